"""Webhooks of teams and organizers: subscriptions, payloads and timed events."""
