"""Submission reader: header, predictions, missing ids, problems."""
