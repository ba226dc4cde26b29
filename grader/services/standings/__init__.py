"""Standings: one row per team."""
