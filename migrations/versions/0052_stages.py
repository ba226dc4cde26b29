"""Stages: linked competitions, and teams carried over from one to the next."""

import sqlalchemy as sa
from alembic import op

revision = "0052"
down_revision = "0051"
branch_labels = None
depends_on = None

LINKS = (("competition", "previous_stage_id", True), ("team", "carried_from_id", False))


def upgrade() -> None:
    """Add the columns; existing competitions are not linked."""
    op.add_column("competition", sa.Column("stage_name", sa.String(64), nullable=False, server_default=""))
    for table, column, is_unique in LINKS:
        # Unlike an operation of Alembic, this adds a foreign key in SQLite without a copy of the table.
        name = f"fk_{table}_{column}_{table}"
        op.execute(
            f"ALTER TABLE {table} ADD COLUMN {column} INTEGER CONSTRAINT {name} REFERENCES {table} (id)"
        )
        op.create_index(f"ix_{table}_{column}", table, [column], unique=is_unique)


def downgrade() -> None:
    """Drop the columns."""
    for table, column, _ in LINKS:
        op.drop_index(f"ix_{table}_{column}", table)
        op.drop_column(table, column)
    op.drop_column("competition", "stage_name")
