"""Alembic migrations, included in the wheel."""
