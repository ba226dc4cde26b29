"""Webhooks of teams and organizers: subscriptions, payloads, timed events."""
