"""Demo competition: generated comments and submissions, and an independent check."""
