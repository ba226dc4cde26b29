"""Rescoring: prepare, compare, publish or roll back a scoring version."""
