"""Who holds a claim, and when the bytes of a rejected file were deleted."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add the columns."""
    for table in ("scoring_job", "organizer_job"):
        with op.batch_alter_table(table) as batch_op:
            batch_op.add_column(sa.Column("holder", sa.String(length=120), nullable=True))
    with op.batch_alter_table("submission") as batch_op:
        batch_op.add_column(sa.Column("file_deleted_at", TIME, nullable=True))


def downgrade() -> None:
    """Take the columns away."""
    with op.batch_alter_table("submission") as batch_op:
        batch_op.drop_column("file_deleted_at")
    for table in ("organizer_job", "scoring_job"):
        with op.batch_alter_table(table) as batch_op:
            batch_op.drop_column("holder")
