"""Leaderboards: rows, pages, charts, submission and team results."""
