"""Organizers' jobs: checks, published solutions, comparisons and standard errors."""
