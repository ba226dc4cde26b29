"""Demo competition: generated comments, models as teams, and an independent check."""
