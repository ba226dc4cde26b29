"""Rescoring: prepare, difference, publish, roll back a scoring version."""
