"""Class rosters, the use of their sections, and points for grades."""

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table and the columns; no competition has a roster."""
    op.add_column("competition", sa.Column("section_use", sa.String(16)))
    op.add_column("competition", sa.Column("grade_points", sa.Text, nullable=False, server_default=""))
    op.create_table(
        "roster_entry",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("competition_id", sa.Integer, sa.ForeignKey("competition.id"), nullable=False),
        sa.Column("user_id", sa.Integer, sa.ForeignKey("user_account.id")),
        sa.Column("name", sa.String(256), nullable=False),
        sa.Column("student_id", sa.String(64)),
        sa.Column("email", sa.String(254)),
        sa.Column("section", sa.String(64), nullable=False),
        sa.Column("has_made_account", sa.Boolean, nullable=False),
        sa.UniqueConstraint("competition_id", "student_id"),
        sa.UniqueConstraint("competition_id", "user_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_roster_entry_user_id", "roster_entry", ["user_id"])


def downgrade() -> None:
    """Drop the rosters and the points; the accounts are kept."""
    op.drop_table("roster_entry")
    op.drop_column("competition", "grade_points")
    op.drop_column("competition", "section_use")
