"""Paired differences between submissions, and the kind of the job that computes them."""

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None

NAME = "ck_organizer_job_kind"
KINDS = "'check', 'verify', 'bundle', 'settings', 'diagnose', 'ties', 'data', 'fair_play'"
MORE = f"{KINDS}, 'pairs'"


def upgrade() -> None:
    """Create the table and allow the new kind."""
    split = sa.Enum("public", "private", native_enum=False, length=16, create_constraint=True, name="split")
    op.create_table(
        "paired_difference",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("submission_id", sa.Integer(), sa.ForeignKey("submission.id"), nullable=False),
        sa.Column(
            "scoring_version_id",
            sa.Integer(),
            sa.ForeignKey("scoring_version.id"),
            nullable=False,
            index=True,
        ),
        sa.Column("split", split, nullable=False),
        sa.Column("baseline_id", sa.Integer(), sa.ForeignKey("submission.id"), nullable=False),
        sa.Column("value", sa.Double()),
        sa.Column("standard_error", sa.Double()),
        sa.UniqueConstraint("submission_id", "scoring_version_id", "split", "baseline_id", name="uq_pair"),
    )
    _allow(KINDS, MORE)


def downgrade() -> None:
    """Drop the table, and the jobs of the new kind."""
    op.execute("DELETE FROM organizer_job WHERE kind = 'pairs'")
    _allow(MORE, KINDS)
    op.drop_table("paired_difference")


def _allow(before: str, after: str) -> None:
    """Replace the list of kinds in the check constraint.

    SQLite cannot alter one. Its documentation recommends editing the stored definition, because the stored
    rows do not change.
    """
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        op.drop_constraint(op.f(NAME), "organizer_job", type_="check")
        op.create_check_constraint(op.f(NAME), "organizer_job", f"kind IN ({after})")
        return
    number = connection.exec_driver_sql("PRAGMA schema_version").scalar_one()
    connection.exec_driver_sql("PRAGMA writable_schema = ON")
    stored = "sqlite_master SET sql = replace(sql, ?, ?) WHERE name = 'organizer_job' AND instr(sql, ?) > 0"
    kinds = f"({before})", f"({after})", f"({before})"
    if connection.exec_driver_sql(f"UPDATE {stored}", kinds).rowcount != 1:
        raise RuntimeError("The table organizer_job has an unexpected definition.")
    connection.exec_driver_sql(f"PRAGMA schema_version = {number + 1}")
    connection.exec_driver_sql("PRAGMA writable_schema = OFF")
