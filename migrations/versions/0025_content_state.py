"""Table of the token that identifies the content of leaderboards."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the empty table; the first write adds its row."""
    op.create_table(
        "content_state",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("token", sa.String(32), nullable=False),
    )


def downgrade() -> None:
    """Drop the table."""
    op.drop_table("content_state")
