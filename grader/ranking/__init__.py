"""Ranking, from values alone: the order of teams, what counts of a team, comparisons, the leak budget."""
