"""Competition setup: creation, settings, solution, data files, publication."""
