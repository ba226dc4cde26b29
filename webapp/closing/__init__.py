"""Organizers' pages for the close: reveal, results, solution."""
