"""Leaderboards: rows, pages, charts, results of submissions and teams, ties."""
