"""Scoring: jobs, batches, retries, stored scores, queue health."""
