"""Organizers' pages of rescoring: versions, difference, publish, roll back."""
