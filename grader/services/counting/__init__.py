"""Counting what is limited: counters in the database, and locks by a name."""
