"""Leaderboards: lines, columns, sorting, results behind a line, ties."""
