"""Presentation: formats, Markdown, charts, names of the terms, static files."""
