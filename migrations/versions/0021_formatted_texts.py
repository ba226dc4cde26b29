"""HTML of organizers' texts, stored when they are saved; the sweeper formats earlier texts."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

FORMATTED = sa.JSON().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    """Add the columns; without HTML a text is shown as it was written."""
    op.add_column("competition", sa.Column("summary", sa.String(length=200), nullable=True))
    for table in ("competition", "announcement"):
        op.add_column(table, sa.Column("formatted", FORMATTED, nullable=True))


def downgrade() -> None:
    """Remove them."""
    for table in ("announcement", "competition"):
        op.drop_column(table, "formatted")
    op.drop_column("competition", "summary")
