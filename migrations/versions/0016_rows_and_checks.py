"""What a competition calls its rows, and whether a file was checked before it was accepted."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    op.add_column(
        "competition", sa.Column("row_name", sa.String(length=64), server_default="", nullable=False)
    )
    op.add_column(
        "submission", sa.Column("was_checked", sa.Boolean(), server_default=sa.false(), nullable=False)
    )


def downgrade() -> None:
    """Remove them."""
    op.drop_column("submission", "was_checked")
    op.drop_column("competition", "row_name")
