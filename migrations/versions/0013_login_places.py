"""Addresses and browsers of logins, as hashes by which two accounts share one."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "login_place",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column(
            "kind",
            sa.Enum("address", "browser", name="kind", native_enum=False, create_constraint=True, length=16),
            nullable=False,
        ),
        sa.Column("place_hash", sa.String(length=64), nullable=False),
        sa.Column("login_count", sa.Integer(), nullable=False),
        sa.Column("first_login_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_login_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_login_place_user_id_user_account")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_login_place")),
        sa.UniqueConstraint("user_id", "place_hash", name=op.f("uq_login_place_user_id_place_hash")),
    )
    op.create_index("ix_login_place_place_hash", "login_place", ["place_hash"])
    op.create_index("ix_login_place_last_login_at", "login_place", ["last_login_at"])


def downgrade() -> None:
    """Remove it."""
    op.drop_table("login_place")
