"""Data files for participants: upload, check for leaks of the solution, release."""
