"""Fair play: the job that looks through the submissions, and marks of what was looked at."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

KINDS = ("check", "verify", "bundle", "settings", "diagnose", "ties", "data")
JOB_STATES = ("waiting", "claimed", "done", "rejected", "failed")


def upgrade() -> None:
    """Add the kind of job and the table."""
    _allow_kinds(*KINDS, "fair_play")
    op.create_table(
        "fair_play_mark",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("competition_id", sa.Integer(), nullable=False),
        sa.Column("line", sa.String(length=64), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("marked_by_id", sa.Integer(), nullable=True),
        sa.Column("marked_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competition.id"], name=op.f("fk_fair_play_mark_competition_id_competition")
        ),
        sa.ForeignKeyConstraint(
            ["marked_by_id"], ["user_account.id"], name=op.f("fk_fair_play_mark_marked_by_id_user_account")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fair_play_mark")),
        sa.UniqueConstraint("competition_id", "line", name=op.f("uq_fair_play_mark_competition_id_line")),
    )


def downgrade() -> None:
    """Remove them."""
    op.drop_table("fair_play_mark")
    op.execute("DELETE FROM organizer_job WHERE kind = 'fair_play'")
    _allow_kinds(*KINDS)


def _allow_kinds(*kinds: str) -> None:
    """Let the jobs be of these kinds; SQLite makes the table again, and loses the constraint on states."""
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    with op.batch_alter_table("organizer_job") as batch_op:
        batch_op.drop_constraint(op.f("ck_organizer_job_kind"), type_="check")
        batch_op.create_check_constraint(op.f("ck_organizer_job_kind"), sa.column("kind").in_(kinds))
        if is_sqlite:
            batch_op.create_check_constraint(
                op.f("ck_organizer_job_state"), sa.column("state").in_(JOB_STATES)
            )
