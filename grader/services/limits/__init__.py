"""Submission limits of teams, and grants of extra submissions."""
