"""People: names."""
