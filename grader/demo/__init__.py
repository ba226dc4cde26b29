"""Demo competition: generated comments and submissions."""
