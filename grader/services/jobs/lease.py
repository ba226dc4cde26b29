"""What all jobs share: open states, attempts during an outage of the storage, incident ids."""

import secrets
from datetime import timedelta

from grader.models import (
    JobState,
)

OPEN_STATES = (JobState.WAITING, JobState.CLAIMED)


def new_incident() -> str:
    """Return a new incident id, under which an internal error is logged."""
    return secrets.token_hex(4)


# While the storage cannot be read a job waits without being counted against its file, but not for ever.
OUTAGE_DELAY = timedelta(seconds=10)


OUTAGE_PATIENCE = timedelta(hours=24)
