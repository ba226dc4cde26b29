"""Organizers' jobs: checks of solutions and data files, verification, results bundle, ties."""
