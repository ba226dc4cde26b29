"""Crash points: named places where tests end a process as if by `kill -9`.

They do nothing unless FAIRBOARD_CRASH_AT names one, as `name` or `name:n` for the n-th time.
tests/faults/test_crash_points.py describes the state at each of them.
"""

import itertools
import os

VARIABLE = "FAIRBOARD_CRASH_AT"
EXIT_CODE = 137  # exit code of a process after kill -9

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
        "rescoring.after_prepare",
        "publish.before_commit",
        "publish.after_commit",
        "rollback.after_commit",
        "webhook.after_claim",
        "webhook.after_send",
        "data_check.before_record",
        "organizer_job.after_claim",
        "organizer_job.after_keep",
        "organizer_job.before_commit",
        "organizer_job.after_commit",
    }
)

_times = itertools.count(1)


def reach(name: str) -> None:
    """End this process if the variable names this point."""
    chosen = os.environ.get(VARIABLE)
    if not chosen:
        return
    chosen_name, _, turn = chosen.partition(":")
    if chosen_name not in POINTS:
        raise ValueError(f"{VARIABLE} names no crash point: {chosen_name!r}.")
    if name == chosen_name and next(_times) >= int(turn or 1):
        os._exit(EXIT_CODE)
