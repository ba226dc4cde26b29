"""Exports: CSV tables and the results bundle."""
