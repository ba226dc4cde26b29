"""Organizers' pages to set a competition up: create, settings, solution, data files, publish."""
