"""API tokens of one competition, tokens made by tokens, and requests that may be repeated."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

BOUND = "fk_api_token_competition_id_competition"
MADE = "fk_api_token_made_with_id_api_token"


def upgrade() -> None:
    """Add the columns and the table."""
    with op.batch_alter_table("api_token") as batch_op:
        batch_op.add_column(sa.Column("competition_id", sa.Integer(), nullable=True))
        batch_op.add_column(sa.Column("made_with_id", sa.Integer(), nullable=True))
        batch_op.create_foreign_key(batch_op.f(BOUND), "competition", ["competition_id"], ["id"])
        batch_op.create_foreign_key(batch_op.f(MADE), "api_token", ["made_with_id"], ["id"])
    op.create_index("ix_api_token_competition_id", "api_token", ["competition_id"])
    op.create_index("ix_api_token_made_with_id", "api_token", ["made_with_id"])
    op.create_table(
        "repeatable_request",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=128), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_repeatable_request_user_id_user_account")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_repeatable_request")),
        sa.UniqueConstraint("user_id", "key", name=op.f("uq_repeatable_request_user_id_key")),
    )
    op.create_index("ix_repeatable_request_at", "repeatable_request", ["at"])


def downgrade() -> None:
    """Take the columns and the table away again; tokens of one competition would serve in all."""
    op.drop_table("repeatable_request")
    op.execute("DELETE FROM api_token WHERE competition_id IS NOT NULL")
    op.drop_index("ix_api_token_made_with_id", "api_token")
    op.drop_index("ix_api_token_competition_id", "api_token")
    with op.batch_alter_table("api_token") as batch_op:
        batch_op.drop_constraint(batch_op.f(MADE), type_="foreignkey")
        batch_op.drop_constraint(batch_op.f(BOUND), type_="foreignkey")
        batch_op.drop_column("made_with_id")
        batch_op.drop_column("competition_id")
