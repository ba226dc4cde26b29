"""Organizers' pages and API: setup, console, close, rescoring."""
