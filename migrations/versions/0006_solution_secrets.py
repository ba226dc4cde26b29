"""Solutions: a commitment in place of the bare hash."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the nonce and the commitment, which a worker makes for the solutions that are there."""
    op.add_column("solution", sa.Column("nonce", sa.String(length=64), nullable=True))
    op.add_column("solution", sa.Column("commitment", sa.String(length=64), nullable=True))


def downgrade() -> None:
    """Take them away: receipts of this version can no longer be checked."""
    with op.batch_alter_table("solution") as batch_op:
        batch_op.drop_column("commitment")
        batch_op.drop_column("nonce")
