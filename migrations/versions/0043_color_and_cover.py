"""Color and cover of competitions."""

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0041"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add both columns."""
    op.add_column("competition", sa.Column("color", sa.String(16), nullable=False, server_default="auto"))
    op.add_column("competition", sa.Column("cover", sa.String(80), nullable=False, server_default=""))


def downgrade() -> None:
    """Drop both columns."""
    op.drop_column("competition", "cover")
    op.drop_column("competition", "color")
