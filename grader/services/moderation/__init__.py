"""Moderation: disqualifications, marks, disputes, submission and team search."""
