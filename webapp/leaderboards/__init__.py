"""Leaderboard pages, their charts and CSV, a team's results, a published rescoring."""
