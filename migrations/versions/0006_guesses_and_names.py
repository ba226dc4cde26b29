"""Counted guesses and mails, known addresses, and names without their punctuation."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add the tables and columns; `name_shapes.fill` writes the shapes of the names that are there."""
    op.create_table(
        "tally",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("whose", sa.String(length=64), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tally")),
    )
    op.create_index("ix_tally_kind_whose_at", "tally", ["kind", "whose", "at"])
    op.create_index("ix_tally_at", "tally", ["at"])

    op.create_table(
        "known_address",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("address_hash", sa.String(length=64), nullable=False),
        sa.Column("last_login_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_known_address_user_id_user_account")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_known_address")),
        sa.UniqueConstraint("user_id", "address_hash", name=op.f("uq_known_address_user_id_address_hash")),
    )
    op.create_index("ix_known_address_last_login_at", "known_address", ["last_login_at"])

    op.add_column("user_account", sa.Column("name_shape", sa.String(length=256), nullable=True))
    op.create_index("ix_user_account_name_shape", "user_account", ["name_shape"], unique=True)
    op.add_column("team", sa.Column("name_shape", sa.String(length=256), nullable=True))
    op.create_index(
        "ix_team_competition_id_name_shape", "team", ["competition_id", "name_shape"], unique=True
    )


def downgrade() -> None:
    """Take the tables and columns away again."""
    op.drop_index("ix_team_competition_id_name_shape", "team")
    with op.batch_alter_table("team") as batch_op:
        batch_op.drop_column("name_shape")
    op.drop_index("ix_user_account_name_shape", "user_account")
    with op.batch_alter_table("user_account") as batch_op:
        batch_op.drop_column("name_shape")
    op.drop_table("known_address")
    op.drop_table("tally")
