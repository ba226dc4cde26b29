"""Metrics of competitions by name, metric.py of organizers, and expressions of leaderboards."""
