"""Tables of second factors, recovery codes, and logins that wait for a second factor."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the empty tables."""
    op.create_table(
        "second_factor",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("user_id", sa.Integer(), sa.ForeignKey("user_account.id"), nullable=False),
        sa.Column("kind", _enum("kind", "app", "passkey"), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("key_id", sa.String(1400), nullable=False, unique=True),
        sa.Column("public_key", sa.Text()),
        sa.Column("counter", sa.BigInteger(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("last_used_at", TIME),
        sa.UniqueConstraint("user_id", "name"),
    )
    op.create_table(
        "recovery_code",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("user_id", sa.Integer(), sa.ForeignKey("user_account.id"), nullable=False),
        sa.Column("code_sha256", sa.String(64), nullable=False),
        sa.UniqueConstraint("user_id", "code_sha256"),
    )
    op.create_table(
        "factor_step",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("user_id", sa.Integer(), sa.ForeignKey("user_account.id"), nullable=False),
        sa.Column("purpose", _enum("purpose", "log_in", "change"), nullable=False),
        sa.Column("token_sha256", sa.String(64), nullable=False, unique=True),
        sa.Column("is_confirmed", sa.Boolean(), nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
    )
    op.create_index(op.f("ix_factor_step_user_id"), "factor_step", ["user_id"])


def downgrade() -> None:
    """Drop the tables; all accounts then log in without a second factor."""
    op.drop_table("factor_step")
    op.drop_table("recovery_code")
    op.drop_table("second_factor")


def _enum(name: str, *values: str) -> sa.Enum:
    return sa.Enum(*values, name=name, native_enum=False, length=16, create_constraint=True)
