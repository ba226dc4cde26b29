"""Links and notes of submissions, and their fields."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0053"
down_revision = "0052"
branch_labels = None
depends_on = None

TABLES = ("submission", "final_standing")


def upgrade() -> None:
    """Add the columns."""
    op.add_column("competition", sa.Column("entry_fields", sa.Text(), nullable=False, server_default=""))
    values = sa.JSON().with_variant(JSONB(), "postgresql")
    for table in TABLES:
        op.add_column(table, sa.Column("details", values, nullable=False, server_default="{}"))


def downgrade() -> None:
    """Drop the columns."""
    for table in TABLES:
        op.drop_column(table, "details")
    op.drop_column("competition", "entry_fields")
