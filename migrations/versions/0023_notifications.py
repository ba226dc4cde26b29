"""Notifications, and which of them a person has read."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "notification",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("competition_id", sa.Integer(), sa.ForeignKey("competition.id"), nullable=False),
        sa.Column("team_id", sa.Integer(), sa.ForeignKey("team.id")),
        sa.Column("user_id", sa.Integer(), sa.ForeignKey("user_account.id"), index=True),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("subject_id", sa.Integer()),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Index("ix_notification_competition_id_team_id_user_id", "competition_id", "team_id", "user_id"),
    )
    op.create_table(
        "notification_read",
        sa.Column("user_id", sa.Integer(), sa.ForeignKey("user_account.id"), primary_key=True),
        sa.Column(
            "notification_id",
            sa.Integer(),
            sa.ForeignKey("notification.id", ondelete="CASCADE"),
            primary_key=True,
        ),
    )


def downgrade() -> None:
    """Remove them."""
    op.drop_table("notification_read")
    op.drop_table("notification")
