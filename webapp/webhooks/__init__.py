"""Webhooks for teams and organizers, and server-sent events."""
