"""Solutions and data files: a commitment in place of the bare hash, and checks of what files give away."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
KINDS = ("check", "verify", "bundle", "settings", "diagnose", "ties")
JOB_STATES = ("waiting", "claimed", "done", "rejected", "failed")
CHECK_STATES = ("unchecked", "waiting", "passed", "held", "allowed")


def upgrade() -> None:
    """Add the nonce and the commitment, which a worker makes for the solutions that are there, and checks."""
    op.add_column("solution", sa.Column("nonce", sa.String(length=64), nullable=True))
    op.add_column("solution", sa.Column("commitment", sa.String(length=64), nullable=True))
    state = sa.Enum(*CHECK_STATES, name="check_state", native_enum=False, create_constraint=True, length=16)
    with op.batch_alter_table("data_file") as batch_op:
        batch_op.add_column(sa.Column("check_state", state, server_default="unchecked", nullable=False))
        batch_op.add_column(sa.Column("check_key", sa.String(length=64), nullable=True))
        for name in ("findings", "allowed"):
            batch_op.add_column(sa.Column(name, JSON, server_default=sa.text("'{}'"), nullable=False))
    _allow_kinds(*KINDS, "data")


def downgrade() -> None:
    """Take them away: receipts of this version can no longer be checked."""
    op.execute("DELETE FROM organizer_job WHERE kind = 'data'")
    _allow_kinds(*KINDS)
    with op.batch_alter_table("data_file") as batch_op:
        batch_op.drop_constraint(op.f("ck_data_file_check_state"), type_="check")
        for name in ("allowed", "findings", "check_key", "check_state"):
            batch_op.drop_column(name)
    with op.batch_alter_table("solution") as batch_op:
        batch_op.drop_column("commitment")
        batch_op.drop_column("nonce")


def _allow_kinds(*kinds: str) -> None:
    """Let the jobs be of these kinds; SQLite makes the table anew, and loses the constraint on states."""
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    with op.batch_alter_table("organizer_job") as batch_op:
        batch_op.drop_constraint(op.f("ck_organizer_job_kind"), type_="check")
        batch_op.create_check_constraint(op.f("ck_organizer_job_kind"), sa.column("kind").in_(kinds))
        if is_sqlite:
            batch_op.create_check_constraint(
                op.f("ck_organizer_job_state"), sa.column("state").in_(JOB_STATES)
            )
