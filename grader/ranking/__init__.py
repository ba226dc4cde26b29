"""Ranking by value: order of teams, counted submissions, comparison of versions."""
