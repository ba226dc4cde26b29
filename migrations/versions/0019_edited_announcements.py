"""Time of the last edit of an announcement."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; it is empty for announcements that were never edited."""
    op.add_column("announcement", sa.Column("edited_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    """Remove the column."""
    op.drop_column("announcement", "edited_at")
