"""Organizers' Markdown texts as safe HTML, with formulas and figures."""
