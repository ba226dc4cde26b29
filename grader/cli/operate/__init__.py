"""Run an installation: serve, demo, migrate, backup, restore, doctor, users, tokens."""
