"""Settings of divisions and prizes, and divisions in final standings."""

import sqlalchemy as sa
from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    for name in ("divisions", "prizes"):
        op.add_column("competition", sa.Column(name, sa.Text(), nullable=False, server_default=""))
    choice = sa.Column("division_choice", sa.String(16), nullable=False, server_default="team")
    op.add_column("competition", choice)
    op.add_column("competition", sa.Column("division_deadline", sa.DateTime(timezone=True)))
    op.add_column("final_standing", sa.Column("division", sa.String(64)))


def downgrade() -> None:
    """Drop the columns."""
    op.drop_column("final_standing", "division")
    for name in ("division_deadline", "division_choice", "prizes", "divisions"):
        op.drop_column("competition", name)
