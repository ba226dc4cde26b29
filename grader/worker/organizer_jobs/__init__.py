"""Organizers' jobs: checks, analyses, verification and results bundles."""
