"""For operators: backup and restore, database schema, doctor."""
