"""Identities at OpenID Connect providers, and competitions restricted to groups."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table and add the columns."""
    op.create_table(
        "identity",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("user_id", sa.Integer(), sa.ForeignKey("user_account.id")),
        sa.Column("provider", sa.String(32), nullable=False),
        sa.Column("issuer", sa.String(255), nullable=False),
        sa.Column("subject", sa.String(255), nullable=False),
        sa.Column("email", sa.String(254)),
        sa.Column(
            "claims",
            sa.JSON().with_variant(JSONB(), "postgresql"),
            server_default=sa.text("'{}'"),
            nullable=False,
        ),
        sa.Column("linked_at", sa.DateTime(timezone=True)),
        sa.Column("last_login_at", sa.DateTime(timezone=True), nullable=False),
        sa.UniqueConstraint("issuer", "subject"),
    )
    op.create_index(op.f("ix_identity_user_id"), "identity", ["user_id"])
    op.add_column("login", sa.Column("provider", sa.String(32)))
    op.add_column("competition", sa.Column("entry_groups", sa.Text(), nullable=False, server_default=""))


def downgrade() -> None:
    """Remove the table and the columns; accounts without a password then need a reset link."""
    op.drop_column("competition", "entry_groups")
    op.drop_column("login", "provider")
    op.drop_index(op.f("ix_identity_user_id"), "identity")
    op.drop_table("identity")
