"""Scoring: jobs, batches, retries, stored scores, the health of the queue."""
