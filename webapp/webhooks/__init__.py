"""Webhooks for teams and organizers."""
