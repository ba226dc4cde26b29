"""Webhooks of teams and of organizers, and server-sent events."""
