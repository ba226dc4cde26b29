"""Names of the fields of an audit entry that are times; the fields of earlier entries are texts."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("audit_entry", sa.Column("times", sa.JSON(), nullable=True))


def downgrade() -> None:
    """Remove it."""
    op.drop_column("audit_entry", "times")
