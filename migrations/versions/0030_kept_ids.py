"""Ids that SQLite never reuses, hashes of former identities, and grants of merged teams."""

import re

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

# Rows of these tables can be deleted, and their ids are part of logs, e-mail keys, addresses or caches.
TABLES = (
    "announcement api_token data_file identity login merge_request organizer_job participation "
    "scoring_version second_factor solution team team_invite webhook"
)
SKIPPED_IDS = 1000
KEY = re.compile(r',\s*CONSTRAINT "?pk_\w+"? PRIMARY KEY \(id\)')


def upgrade() -> None:
    """Change the tables and move the grants of merged teams to the teams that absorbed them."""
    if op.get_bind().dialect.name == "sqlite":
        for name in TABLES.split():
            _keep_ids(name)
    op.create_table(
        "kept_identity",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("user_id", sa.Integer(), sa.ForeignKey("user_account.id"), nullable=False),
        sa.Column("identity_hash", sa.String(64), nullable=False, index=True),
        sa.UniqueConstraint("user_id", "identity_hash"),
    )
    op.execute(
        "WITH RECURSIVE into_team (id, last_id) AS ("
        "SELECT id, id FROM team WHERE merged_into_id IS NULL UNION ALL "
        "SELECT team.id, last_id FROM team JOIN into_team ON team.merged_into_id = into_team.id) "
        "UPDATE submission_grant SET team_id = "
        "(SELECT last_id FROM into_team WHERE into_team.id = submission_grant.team_id) "
        "WHERE team_id IN (SELECT id FROM team WHERE merged_into_id IS NOT NULL)"
    )


def downgrade() -> None:
    """Drop the table; earlier versions accept the other changes."""
    op.drop_table("kept_identity")


def _keep_ids(name: str) -> None:
    """Rebuild a table with AUTOINCREMENT.

    Alembic's batch mode would lose the check constraints. Some ids are skipped, because rows whose ids were
    greater may have been deleted before.
    """
    connection = op.get_bind()
    stored = sa.text(
        "SELECT sql FROM sqlite_master WHERE tbl_name = :name AND type = :type AND sql IS NOT NULL"
    )
    (created,) = connection.execute(stored, {"name": name, "type": "table"}).scalars()
    if "AUTOINCREMENT" in created:
        return  # A downgrade keeps it.
    indexes = connection.execute(stored, {"name": name, "type": "index"}).scalars().all()
    body, key_count = KEY.subn("", created[created.index("(") :])
    body, id_count = re.subn(
        r"\bid INTEGER NOT NULL", f"id INTEGER CONSTRAINT pk_{name} NOT NULL PRIMARY KEY AUTOINCREMENT", body
    )
    if (key_count, id_count) != (1, 1):
        raise RuntimeError(f"The table {name} has an unexpected definition: {created}")
    connection.exec_driver_sql(f"CREATE TABLE kept_{name} {body}")
    op.execute(f"INSERT INTO kept_{name} SELECT * FROM {name}")  # noqa: S608
    op.execute(f"DROP TABLE {name}")
    op.execute(f"ALTER TABLE kept_{name} RENAME TO {name}")
    for each in indexes:
        connection.exec_driver_sql(each)
    op.execute(f"DELETE FROM sqlite_sequence WHERE name = '{name}'")  # noqa: S608
    if connection.execute(sa.text("SELECT 1 FROM audit_entry")).first():
        last_id = f"SELECT '{name}', coalesce(max(id), 0) + {SKIPPED_IDS} FROM {name}"  # noqa: S608
        op.execute(f"INSERT INTO sqlite_sequence (name, seq) {last_id}")
