"""Named places where a process can be made to die as if by `kill -9`, for the tests of what survives that.

They do nothing unless FAIRBOARD_CRASH_AT names one, as `name` or, for the n-th time that a process comes
there, as `name:n`.
"""

import itertools
import os
from typing import NamedTuple

VARIABLE = "FAIRBOARD_CRASH_AT"
EXIT_CODE = 137  # what a shell reports of a process that kill -9 ended


class Point(NamedTuple):
    """The file whose code comes there, and what has been done then."""

    file: str
    sentence: str


POINTS = {
    "blob.before_rename": Point(
        "grader/storage/stores.py",
        "A blob is written and synced, and has no name that anything could refer to.",
    ),
    "accept.after_blob": Point(
        "webapp/submissions/uploads.py", "An upload's blob is stored; no row knows of it."
    ),
    "accept.before_commit": Point(
        "webapp/submissions/uploads.py", "The submission and its jobs are written and not committed."
    ),
    "accept.after_commit": Point(
        "webapp/submissions/uploads.py", "The submission and its jobs are committed; no queue was hinted."
    ),
    "accept.before_response": Point(
        "webapp/submissions/uploads.py", "The queue was hinted; the client has no answer yet."
    ),
    "claim.before_commit": Point(
        "grader/worker/scoring/scorer.py",
        "A job is claimed, and that is not committed.",
    ),
    "claim.after_commit": Point(
        "grader/worker/scoring/scorer.py",
        "A job is claimed and nothing is computed.",
    ),
    "record.before_commit": Point(
        "grader/worker/scoring/scorer.py", "Scores, status and standing are written and not committed."
    ),
    "record.after_commit": Point(
        "grader/worker/scoring/scorer.py", "The result is committed; the queue's message is not acknowledged."
    ),
    "batch.after_claim": Point(
        "grader/worker/scoring/batch_scorer.py", "A batch of a rescoring is claimed and nothing is computed."
    ),
    "batch.before_commit": Point(
        "grader/worker/scoring/batch_scorer.py", "The results of a batch are written and not committed."
    ),
    "batch.after_commit": Point(
        "grader/worker/scoring/batch_scorer.py", "The results of a batch are committed; no queue was hinted."
    ),
    "rescoring.before_commit": Point(
        "grader/services/rescoring/preparation.py",
        "A scoring version and its jobs are written and not committed.",
    ),
    "rescoring.after_prepare": Point(
        "grader/cli/competition/rescore.py", "A scoring version is being prepared and nobody works on it."
    ),
    "publish.before_commit": Point(
        "grader/services/rescoring/publication.py",
        "A publication or rollback has written everything, and nothing is committed.",
    ),
    "publish.after_commit": Point(
        "grader/cli/competition/rescore.py", "Every leaderboard has switched; the client has no answer yet."
    ),
    "rollback.after_commit": Point(
        "grader/cli/competition/rescore.py", "A rollback is committed; who asked for it has no answer yet."
    ),
    "webhook.after_claim": Point(
        "grader/worker/webhook_sender.py", "An event for a webhook is claimed and not sent."
    ),
    "webhook.after_send": Point(
        "grader/worker/webhook_sender.py", "A receiver took an event, and that is not recorded."
    ),
    "data_check.before_record": Point(
        "grader/worker/organizer_jobs/data_check.py",
        "A data file was checked, and nothing of it is written.",
    ),
    "organizer_job.after_claim": Point(
        "grader/worker/organizer_jobs/program.py", "An organizer's job is claimed and nothing is done."
    ),
    "organizer_job.after_keep": Point(
        "grader/worker/organizer_jobs/program.py", "An organizer's job has kept some of what it found."
    ),
    "organizer_job.before_commit": Point(
        "grader/worker/organizer_jobs/program.py",
        "The result of an organizer's job is written and not committed.",
    ),
    "organizer_job.after_commit": Point(
        "grader/worker/organizer_jobs/program.py", "The result of an organizer's job is committed."
    ),
}

_times = itertools.count(1)


def reach(name: str) -> None:
    """End this process at once if it is to crash here; otherwise do nothing."""
    chosen = os.environ.get(VARIABLE)
    if not chosen:
        return
    chosen_name, _, turn = chosen.partition(":")
    if chosen_name not in POINTS:
        raise ValueError(f"{VARIABLE} names no crash point: {chosen_name!r}.")
    if name == chosen_name and next(_times) >= int(turn or 1):
        os._exit(EXIT_CODE)
