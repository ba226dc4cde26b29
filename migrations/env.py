"""Alembic's environment. `grader.maintenance.schema` hands in the open connection; nothing else runs it."""

from alembic import context

import grader.models  # noqa: F401  (fills the metadata)
from grader.db import Base

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=Base.metadata,
    render_as_batch=connection.dialect.name == "sqlite",
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
