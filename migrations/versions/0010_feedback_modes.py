"""Coarse modes of feedback: their step and key, what they show of a public score, and what that needs."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

BEFORE = ("open", "terms", "score")
AFTER = (*BEFORE, "tiered", "ladder", "noised", "blind")
STEPS = ("0.0005", "0.001", "0.002", "0.005", "0.01", "0.02", "0.05")


def upgrade() -> None:
    """Add the modes, the columns and the table."""
    step = sa.Enum(*STEPS, name="feedback_step", native_enum=False, create_constraint=True, length=16)
    with op.batch_alter_table("competition") as batch_op:
        batch_op.add_column(sa.Column("feedback_step", step, server_default="0.002", nullable=False))
        batch_op.add_column(sa.Column("feedback_key", sa.String(length=64), nullable=True))
    _allow(AFTER)
    with op.batch_alter_table("score") as batch_op:
        batch_op.add_column(sa.Column("shown_units", sa.Integer(), nullable=True))
    op.create_table(
        "score_basis",
        sa.Column("score_id", sa.Integer(), nullable=False),
        sa.Column("noise", sa.Double(), nullable=False),
        sa.Column("sketch", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(["score_id"], ["score.id"], name=op.f("fk_score_basis_score_id_score")),
        sa.PrimaryKeyConstraint("score_id", name=op.f("pk_score_basis")),
    )


def downgrade() -> None:
    """Take them away again; a competition with a coarse mode then shows the score alone.

    Refused while that would show scores which are hidden until a reveal.
    """
    hidden = op.get_bind().scalar(
        sa.text(
            "SELECT count(*) FROM competition WHERE state = 'published' "
            "AND feedback NOT IN ('open', 'terms', 'score')"
        )
    )
    if hidden:
        raise RuntimeError(
            f"{hidden} published competitions hide their scores until the reveal, and the version before "
            "would show them. Reveal or archive them first."
        )
    op.drop_table("score_basis")
    with op.batch_alter_table("score") as batch_op:
        batch_op.drop_column("shown_units")
    op.execute("UPDATE competition SET feedback = 'score' WHERE feedback NOT IN ('open', 'terms', 'score')")
    with op.batch_alter_table("competition") as batch_op:
        batch_op.drop_constraint(op.f("ck_competition_feedback_step"), type_="check")
        batch_op.drop_column("feedback_key")
        batch_op.drop_column("feedback_step")
    _allow(BEFORE)


def _allow(modes: tuple[str, ...]) -> None:
    with op.batch_alter_table("competition") as batch_op:
        batch_op.drop_constraint(op.f("ck_competition_feedback"), type_="check")
        batch_op.create_check_constraint(op.f("ck_competition_feedback"), sa.column("feedback").in_(modes))
