"""Standings rows of each team, ranks and final standings."""
