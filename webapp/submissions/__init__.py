"""Submissions of a team: upload, list, selection, comparison, receipts (pages and API)."""
