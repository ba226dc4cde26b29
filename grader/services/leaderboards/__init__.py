"""Leaderboard pages: lines, columns, sort, results behind a line, ties."""
