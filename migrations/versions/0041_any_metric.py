"""Terms and groups of scores as JSON, and 64-bit score units.

The four columns of terms remain, because processes of the previous version use them during an upgrade.
Triggers fill the terms of rows that such a process adds, and its columns in rows that this version adds. The
column `counts` keeps its name for the same reason. A migration of the next release drops the four columns and
the triggers.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
TERMS = ("overall_auc", "subgroup_auc", "bpsn_auc", "bnsp_auc")
UNITS = ("standing", "final_standing")


def upgrade() -> None:
    """Add the columns, move the terms and create the triggers."""
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    with op.batch_alter_table("score") as score:
        for name in ("terms", "groups"):
            score.add_column(sa.Column(name, JSON, nullable=False, server_default="{}"))
        for name in TERMS:
            score.alter_column(name, existing_type=sa.Double(), nullable=True)
    op.execute(f"UPDATE score SET terms = {_object('', is_sqlite=is_sqlite)}")  # noqa: S608
    for statement in _TRIGGERS_OF_SQLITE if is_sqlite else _TRIGGERS_OF_POSTGRESQL:
        op.execute(sa.text(statement))
    if not is_sqlite:
        for table in UNITS:
            op.alter_column(table, "score_units", type_=sa.BigInteger(), existing_type=sa.Integer())


def downgrade() -> None:
    """Drop the triggers and the new columns."""
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    if is_sqlite:
        op.execute("DROP TRIGGER score_terms")
        op.execute("DROP TRIGGER score_columns")
    else:
        op.execute("DROP TRIGGER score_terms ON score")
        op.execute("DROP FUNCTION score_terms()")
        for table in UNITS:
            op.alter_column(table, "score_units", type_=sa.Integer(), existing_type=sa.BigInteger())
    with op.batch_alter_table("score") as score:
        for name in ("terms", "groups"):
            score.drop_column(name)
        for name in TERMS:
            score.alter_column(name, existing_type=sa.Double(), nullable=False)


def _object(row: str, *, is_sqlite: bool) -> str:
    """Return the terms of a row as a JSON object that contains all digits."""
    if not is_sqlite:
        pairs = ", ".join(f"'{name}', {row}{name}" for name in TERMS)
        return f"jsonb_build_object({pairs})"
    # SQLite's own JSON functions write 15 digits.
    pairs = " || ', ' || ".join(f"'\"{name}\": ' || printf('%!.17g', {row}{name})" for name in TERMS)
    return f"'{{' || {pairs} || '}}'"


_TRIGGERS_OF_SQLITE = (
    "CREATE TRIGGER score_terms AFTER INSERT ON score "  # noqa: S608
    "WHEN NEW.terms = '{}' AND NEW.overall_auc IS NOT NULL BEGIN "
    f"UPDATE score SET terms = {_object('NEW.', is_sqlite=True)} WHERE id = NEW.id; END",
    "CREATE TRIGGER score_columns AFTER INSERT ON score WHEN NEW.overall_auc IS NULL BEGIN "  # noqa: S608
    "UPDATE score SET "
    + ", ".join(f"{name} = json_extract(NEW.terms, '$.{name}')" for name in TERMS)
    + " WHERE id = NEW.id; END",
)
_TRIGGERS_OF_POSTGRESQL = (
    "CREATE FUNCTION score_terms() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "IF NEW.overall_auc IS NULL THEN "
    + " ".join(f"NEW.{name} := (NEW.terms ->> '{name}')::double precision;" for name in TERMS)
    + f" ELSIF NEW.terms = '{{}}' THEN NEW.terms := {_object('NEW.', is_sqlite=False)}; END IF; "
    "RETURN NEW; END $$",
    "CREATE TRIGGER score_terms BEFORE INSERT ON score FOR EACH ROW EXECUTE FUNCTION score_terms()",
)
