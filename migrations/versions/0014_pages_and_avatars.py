"""Pages of people, which each of them turns on, and random keys from which avatars are drawn."""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

CHUNK = 1000
WITH_AVATARS = ("user_account", "team")


def upgrade() -> None:
    """Add the columns, and draw a key for everybody; nobody has a page yet."""
    op.add_column("user_account", sa.Column("page_key", sa.String(length=32), nullable=True))
    op.create_index("ix_user_account_page_key", "user_account", ["page_key"], unique=True)
    for name in WITH_AVATARS:
        # A process of the version before writes rows without a key: their avatar is the plain one.
        op.add_column(name, sa.Column("avatar_key", sa.String(length=16), nullable=True))
        _draw_keys(name)


def downgrade() -> None:
    """Remove them."""
    op.drop_index("ix_user_account_page_key", "user_account")
    for name, column in (("user_account", "page_key"), *((each, "avatar_key") for each in WITH_AVATARS)):
        op.drop_column(name, column)


def _draw_keys(name: str) -> None:
    connection = op.get_bind()
    table = sa.table(name, sa.column("id", sa.Integer()), sa.column("avatar_key", sa.String()))
    ids = connection.scalars(sa.select(table.c.id)).all()
    statement = table.update().where(table.c.id == sa.bindparam("row_id"))
    for first in range(0, len(ids), CHUNK):
        connection.execute(
            statement.values(avatar_key=sa.bindparam("key")),
            [{"row_id": each, "key": secrets.token_hex(8)} for each in ids[first : first + CHUNK]],
        )
