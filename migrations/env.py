"""Alembic environment that `grader.maintenance.schema` runs with an open connection."""

from alembic import context

import grader.models  # noqa: F401  (registers the tables)
from grader.models.base import Base

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=Base.metadata,
    render_as_batch=connection.dialect.name == "sqlite",
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
