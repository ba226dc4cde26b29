"""Presentation: number and date formats, form fields, term names, static files."""
