"""Organizers' jobs in their own process: checks of solutions and data files, verification, bundle, ties."""
