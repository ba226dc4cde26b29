"""Bytes in, arrays or a list of problems out. Pure: no database, no settings, no web."""
