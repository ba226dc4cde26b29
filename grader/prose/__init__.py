"""Conversion of organizers' Markdown texts to safe HTML, with formulas and figures."""
