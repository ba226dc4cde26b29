"""Aliases of teams, anonymity, and the freeze of the public leaderboard."""

import base64
import secrets

import sqlalchemy as sa
from alembic import op

revision = "0051"
down_revision = "0050"
branch_labels = None
depends_on = None

INDEX = "ix_team_competition_id_alias"


def upgrade() -> None:
    """Add the columns, and a random alias for each team."""
    op.add_column("competition", sa.Column("freezes_at", sa.DateTime(timezone=True)))
    op.add_column("competition", sa.Column("anonymity", sa.String(16), nullable=False, server_default="none"))
    op.add_column("team", sa.Column("alias", sa.String(16)))
    team = sa.table("team", sa.column("id"), sa.column("alias"))
    connection = op.get_bind()
    ids = connection.scalars(sa.select(team.c.id)).all()
    if ids:
        aliases = [
            {"team_id": each, "new": f"Team {base64.b32encode(secrets.token_bytes(5)).decode()}"}
            for each in ids
        ]
        update = sa.update(team).where(team.c.id == sa.bindparam("team_id"))
        connection.execute(update.values(alias=sa.bindparam("new")), aliases)
    op.create_index(INDEX, "team", ["competition_id", "alias"], unique=True)


def downgrade() -> None:
    """Drop the columns."""
    op.drop_index(INDEX, "team")
    op.drop_column("team", "alias")
    op.drop_column("competition", "anonymity")
    op.drop_column("competition", "freezes_at")
