"""Named leaderboards in the standings, and divisions of teams."""

import sqlalchemy as sa
from alembic import op

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None

INDEX = "ix_standing_board"
UNIQUE = "uq_standing_scoring_version_id_split_team_id"
UNIQUE_BY_BOARD = "uq_standing_scoring_version_id_split_board_team_id"
ORDER = (sa.text("score_units DESC"), "submitted_at", "submission_id")


def upgrade() -> None:
    """Add the columns; existing standings belong to the main leaderboard."""
    op.add_column("team", sa.Column("division", sa.String(64)))
    op.drop_index(INDEX, "standing")
    with op.batch_alter_table("standing") as standing:
        standing.add_column(sa.Column("board", sa.String(40), nullable=False, server_default=""))
        standing.drop_constraint(op.f(UNIQUE), type_="unique")
        standing.create_unique_constraint(
            op.f(UNIQUE_BY_BOARD), ["scoring_version_id", "split", "board", "team_id"]
        )
    op.create_index(INDEX, "standing", ["scoring_version_id", "split", "board", *ORDER])


def downgrade() -> None:
    """Drop the columns, and the standings of named leaderboards."""
    op.execute("DELETE FROM standing WHERE board <> ''")
    op.drop_index(INDEX, "standing")
    with op.batch_alter_table("standing") as standing:
        standing.drop_constraint(op.f(UNIQUE_BY_BOARD), type_="unique")
        standing.create_unique_constraint(op.f(UNIQUE), ["scoring_version_id", "split", "team_id"])
        standing.drop_column("board")
    op.create_index(INDEX, "standing", ["scoring_version_id", "split", *ORDER])
    op.drop_column("team", "division")
