"""Moderation: disqualifications, marks, submission and team search."""
