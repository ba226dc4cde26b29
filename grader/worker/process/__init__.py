"""Processes: resource limits, holder names, retries of database writes."""
