"""Leak check for data files: detection of columns that disclose the solution."""
