"""User and team names."""
