"""The setting of named leaderboards, and their final standings."""

import sqlalchemy as sa
from alembic import op

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None

UNIQUE = "uq_final_standing_board_id_rank"
UNIQUE_BY_BOARD = "uq_final_standing_board_id_board_key_rank"


def upgrade() -> None:
    """Add the columns; existing final standings belong to the main leaderboard."""
    for table in ("competition", "final_board"):
        op.add_column(table, sa.Column("boards", sa.Text(), nullable=False, server_default=""))
    with op.batch_alter_table("final_standing") as standing:
        standing.add_column(sa.Column("board_key", sa.String(40), nullable=False, server_default=""))
        standing.drop_constraint(op.f(UNIQUE), type_="unique")
        standing.create_unique_constraint(op.f(UNIQUE_BY_BOARD), ["board_id", "board_key", "rank"])


def downgrade() -> None:
    """Drop the columns, and the final standings of named leaderboards."""
    op.execute("DELETE FROM final_standing WHERE board_key <> ''")
    with op.batch_alter_table("final_standing") as standing:
        standing.drop_constraint(op.f(UNIQUE_BY_BOARD), type_="unique")
        standing.create_unique_constraint(op.f(UNIQUE), ["board_id", "rank"])
        standing.drop_column("board_key")
    for table in ("final_board", "competition"):
        op.drop_column(table, "boards")
