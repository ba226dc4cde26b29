"""Submission reader: header, predictions, missing ids and problems."""
