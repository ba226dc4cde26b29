"""Notifications of events in competitions."""
