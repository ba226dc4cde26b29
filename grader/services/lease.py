"""Leases of jobs: which states are open, and the incident id of one that broke."""

import secrets

from grader.models import (
    JobState,
)

OPEN_STATES = (JobState.WAITING, JobState.CLAIMED)


def new_incident() -> str:
    """Return a new id under which an error of ours stands in the log."""
    return secrets.token_hex(4)
