"""The list of a solution's canary rows."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    with op.batch_alter_table("solution") as batch_op:
        batch_op.add_column(sa.Column("canaries", sa.Text(), nullable=True))


def downgrade() -> None:
    """Take it away again: which rows are canaries is lost, their labels stay as they were drawn."""
    with op.batch_alter_table("solution") as batch_op:
        batch_op.drop_column("canaries")
