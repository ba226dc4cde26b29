"""Presentation: number and date formats, form fields, term names, avatars, static files."""
