"""Counters for rate limits in the database, and locks by name."""
