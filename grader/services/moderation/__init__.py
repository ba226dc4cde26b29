"""Moderation: disqualifications, benchmarks, activity, submission and team search."""
