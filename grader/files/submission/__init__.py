"""A submission file: its header, rows and coverage, and everything that is wrong with it."""
