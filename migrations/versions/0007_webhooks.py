"""Webhooks and the outbox of what is sent to them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
STORED_JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "webhook",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("competition_id", sa.Integer(), nullable=False),
        sa.Column("team_id", sa.Integer(), nullable=True),
        sa.Column("owner_id", sa.Integer(), nullable=False),
        sa.Column("url", sa.String(length=1000), nullable=False),
        sa.Column(
            "format",
            sa.Enum("json", "slack", name="format", native_enum=False, length=16, create_constraint=True),
            nullable=False,
        ),
        sa.Column("events", STORED_JSON, nullable=False),
        sa.Column("secret", sa.String(length=64), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("available_at", TIME, nullable=False),
        sa.Column("failure_count", sa.Integer(), nullable=False),
        sa.Column("failing_since", TIME, nullable=True),
        sa.Column("off_at", TIME, nullable=True),
        sa.Column(
            "off_reason",
            sa.Enum(
                "switched_off",
                "failing",
                "owner_left",
                name="off_reason",
                native_enum=False,
                length=16,
                create_constraint=True,
            ),
            nullable=True,
        ),
        sa.Column("ranks", STORED_JSON, nullable=True),
        sa.Column("ranks_told_at", TIME, nullable=True),
        sa.Column("deadline_told", TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competition.id"], name=op.f("fk_webhook_competition_id_competition")
        ),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_webhook_team_id_team")),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["user_account.id"], name=op.f("fk_webhook_owner_id_user_account")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook")),
    )
    for column in ("competition_id", "team_id", "owner_id"):
        op.create_index(f"ix_webhook_{column}", "webhook", [column])

    op.create_table(
        "webhook_delivery",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("token", sa.String(length=32), nullable=False),
        sa.Column("webhook_id", sa.Integer(), nullable=False),
        sa.Column("event", sa.String(length=32), nullable=False),
        sa.Column("subject_id", sa.Integer(), nullable=True),
        sa.Column("details", STORED_JSON, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("available_at", TIME, nullable=False),
        sa.Column("attempt_count", sa.Integer(), nullable=False),
        sa.Column("attempted_at", TIME, nullable=True),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("duration_ms", sa.Integer(), nullable=True),
        sa.Column("ended_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["webhook_id"], ["webhook.id"], name=op.f("fk_webhook_delivery_webhook_id_webhook")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_delivery")),
        sa.UniqueConstraint("token", name=op.f("uq_webhook_delivery_token")),
    )
    op.create_index(
        "ix_webhook_delivery_ended_at_available_at", "webhook_delivery", ["ended_at", "available_at"]
    )
    op.create_index("ix_webhook_delivery_webhook_id_id", "webhook_delivery", ["webhook_id", "id"])


def downgrade() -> None:
    """Take the tables away again."""
    op.drop_table("webhook_delivery")
    op.drop_table("webhook")
