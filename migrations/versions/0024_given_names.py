"""Columns for team names assigned or removed by organizers."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

RENAME = "team.rename"
FREE = "team.free_name"

audit_entry = sa.table(
    "audit_entry",
    sa.column("id", sa.Integer()),
    sa.column("at", sa.DateTime(timezone=True)),
    sa.column("action", sa.String()),
    sa.column("subject", sa.String()),
    sa.column("before", sa.JSON()),
    sa.column("after", sa.JSON()),
    sa.column("reason", sa.Text()),
)
team = sa.table(
    "team",
    sa.column("id", sa.Integer()),
    sa.column("name", sa.String()),
    sa.column("name_given_at", sa.DateTime(timezone=True)),
    sa.column("name_given_because", sa.Text()),
    sa.column("names_taken_away", sa.JSON()),
)


def upgrade() -> None:
    """Add the columns and fill them from the audit log."""
    op.add_column("team", sa.Column("name_given_at", sa.DateTime(timezone=True)))
    op.add_column("team", sa.Column("name_given_because", sa.Text(), nullable=False, server_default=""))
    op.add_column("team", sa.Column("names_taken_away", sa.JSON()))
    connection = op.get_bind()
    held: dict[str, list[sa.Row]] = {}
    renamings = sa.select(audit_entry).where(audit_entry.c.action.in_((RENAME, FREE)))
    for act in connection.execute(renamings.order_by(audit_entry.c.id)):
        if act.action == FREE:
            held.pop(act.subject, None)
        elif "name" in act.after:
            held.setdefault(act.subject, []).append(act)
    for subject, acts in held.items():
        number = int(subject.removeprefix("team [team ").removesuffix("]"))
        taken = [act.before["name"] for act in acts]
        row = team.update().where(team.c.id == number)
        connection.execute(row.values(names_taken_away=taken))
        last = acts[-1]
        connection.execute(
            row.where(team.c.name == last.after["name"]).values(
                name_given_at=last.at, name_given_because=last.reason
            )
        )


def downgrade() -> None:
    """Remove the columns."""
    op.drop_column("team", "names_taken_away")
    op.drop_column("team", "name_given_because")
    op.drop_column("team", "name_given_at")
