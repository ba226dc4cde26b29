"""Uploads that are announced before their bytes come."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "announced_upload",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("token_sha256", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("competition_id", sa.Integer(), nullable=True),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("parts", sa.JSON(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("used_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_announced_upload_user_id_user_account")
        ),
        sa.ForeignKeyConstraint(
            ["competition_id"],
            ["competition.id"],
            name=op.f("fk_announced_upload_competition_id_competition"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_announced_upload")),
        sa.UniqueConstraint("token_sha256", name=op.f("uq_announced_upload_token_sha256")),
    )
    for column in ("user_id", "competition_id", "expires_at"):
        op.create_index(f"ix_announced_upload_{column}", "announced_upload", [column])


def downgrade() -> None:
    """Take the table away."""
    op.drop_table("announced_upload")
