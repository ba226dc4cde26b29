"""Standard errors of scores, whether ties are marked automatically, and hidden standings computed again."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

STORED_JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    """Add the columns; existing competitions keep publishing ties by hand.

    The calendar settles closed competitions with coarse feedback again, because automatic finals now go by
    the true public score.
    """
    op.add_column("score", sa.Column("errors", STORED_JSON, nullable=True))
    op.add_column(
        "competition", sa.Column("marks_ties", sa.Boolean(), nullable=False, server_default=sa.false())
    )
    op.execute(
        "UPDATE competition SET settled_at = NULL "
        "WHERE revealed_at IS NULL AND feedback NOT IN ('open', 'terms', 'score')"
    )


def downgrade() -> None:
    """Remove them."""
    op.drop_column("competition", "marks_ties")
    op.drop_column("score", "errors")
