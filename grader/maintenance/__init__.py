"""Maintenance for operators: backup and restore, database schema, doctor checks."""
