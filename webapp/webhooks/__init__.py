"""Webhooks of teams and organizers, and server-sent events."""
