"""Ranking from values: order of teams, which submissions count, comparison of versions."""
