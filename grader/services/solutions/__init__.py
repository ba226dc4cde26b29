"""The secret solution: upload, check, report, split, correct, publish."""
