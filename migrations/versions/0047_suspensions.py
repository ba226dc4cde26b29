"""Suspension of accounts."""

import sqlalchemy as sa
from alembic import op

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    op.add_column("user_account", sa.Column("suspended_at", sa.DateTime(timezone=True)))
    op.add_column(
        "user_account", sa.Column("suspension_reason", sa.Text(), nullable=False, server_default="")
    )


def downgrade() -> None:
    """Drop the columns."""
    op.drop_column("user_account", "suspension_reason")
    op.drop_column("user_account", "suspended_at")
