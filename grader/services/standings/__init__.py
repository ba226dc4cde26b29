"""Standings: one row per team, daily ranks, final standings."""
