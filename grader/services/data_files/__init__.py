"""Data files for participants: upload, leak checks, release, archive."""
