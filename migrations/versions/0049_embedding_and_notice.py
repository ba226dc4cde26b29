"""Setting for embedded leaderboards, and the version of the site's notice that each user has accepted."""

import sqlalchemy as sa
from alembic import op

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; no other site may embed existing leaderboards, and nobody has accepted a notice."""
    embeddable = sa.Column("embeddable", sa.Boolean(), nullable=False, server_default=sa.false())
    op.add_column("competition", embeddable)
    op.add_column("user_account", sa.Column("notice_version", sa.String(64)))
    op.add_column("user_account", sa.Column("notice_accepted_at", sa.DateTime(timezone=True)))


def downgrade() -> None:
    """Drop the columns."""
    op.drop_column("user_account", "notice_accepted_at")
    op.drop_column("user_account", "notice_version")
    op.drop_column("competition", "embeddable")
