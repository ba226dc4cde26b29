"""Organizers' jobs: checks, analyses and solution files."""
