"""Shared by all file readers: compression, encoding, numbers, ids, lines of problems."""
