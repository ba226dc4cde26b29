"""Crash points: named places in the code where tests kill the process, as with `kill -9`.

A crash point is inactive unless the variable FAIRBOARD_CRASH_AT contains its name: `name` for the first time
the point is reached, or `name:n` for the n-th time.
"""

import itertools
import os

VARIABLE = "FAIRBOARD_CRASH_AT"
EXIT_CODE = 137  # the exit code of a process after kill -9

POINTS = frozenset(
    {
        "blob.before_rename",
        "accept.after_blob",
        "accept.before_commit",
        "accept.after_commit",
        "accept.before_response",
        "claim.before_commit",
        "claim.after_commit",
        "record.before_commit",
        "record.after_commit",
        "batch.after_claim",
        "batch.before_commit",
        "batch.after_commit",
        "rescoring.before_commit",
        "publish.before_commit",
        "data_check.before_record",
        "organizer_job.after_claim",
        "organizer_job.after_keep",
        "organizer_job.before_commit",
        "organizer_job.after_commit",
        "backup.after_begin",
        "backup.after_tables",
        "backup.after_object",
        "backup.before_record",
        "backup.after_record",
        "restore.before_commit",
        "prune.after_record",
        "prune.after_object",
    }
)

_times = itertools.count(1)


def reach(name: str) -> None:
    """Terminate this process if the environment variable selects this crash point."""
    chosen = os.environ.get(VARIABLE)
    if not chosen:
        return
    chosen_name, _, turn = chosen.partition(":")
    if chosen_name not in POINTS:
        raise ValueError(f"{VARIABLE} contains an unknown crash point: {chosen_name!r}.")
    if name == chosen_name and next(_times) >= int(turn or 1):
        os._exit(EXIT_CODE)
