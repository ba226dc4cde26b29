"""Alembic migrations; they travel in the wheel."""
