"""Webhooks of teams and of organizers: pages and API; waiting for a score, and events as they happen."""
