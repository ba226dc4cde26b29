"""Scoring jobs: claim, retry, record a submission score; the queue."""
