"""People: their names, look-alikes among them, and finding a person by name."""
