"""Shared code of the file readers: compression, encoding, numbers, ids, problems."""
