"""Alembic migrations, which are part of the wheel."""
