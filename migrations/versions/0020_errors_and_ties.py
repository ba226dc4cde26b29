"""Standard errors of scores, and whether ties are marked automatically after the reveal."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

STORED_JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    """Add the columns; existing competitions keep publishing ties by hand."""
    op.add_column("score", sa.Column("errors", STORED_JSON, nullable=True))
    op.add_column(
        "competition", sa.Column("marks_ties", sa.Boolean(), nullable=False, server_default=sa.false())
    )


def downgrade() -> None:
    """Remove them."""
    op.drop_column("competition", "marks_ties")
    op.drop_column("score", "errors")
