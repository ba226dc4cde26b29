"""Demo competition: generated comments, models as teams, independent check of the service."""
