"""Setup of a competition: create, settings, solution, data files, publish."""
