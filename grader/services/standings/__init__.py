"""Standings: a row for each team, daily ranks, final standings."""
