"""Files of a competition by day, read from an index alone."""

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the index."""
    op.create_index("ix_submission_by_day", "submission", ["competition_id", "submitted_at", "status"])


def downgrade() -> None:
    """Remove it."""
    op.drop_index("ix_submission_by_day", "submission")
