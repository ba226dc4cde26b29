"""Data files for participants: upload, leak checks, release and the ZIP archive."""
