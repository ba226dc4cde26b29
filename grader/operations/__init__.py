"""Operators: backups, doctor, schema."""
