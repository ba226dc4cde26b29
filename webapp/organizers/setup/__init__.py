"""Setup of a competition: creation, settings, solution, data files, publication."""
