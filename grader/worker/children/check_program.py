"""Child process that checks files before submission.

It receives two open files (the upload and the row ids), the names of the other labels, and the
settings of a metric other than that of bias. It has no settings of the site, database or storage, and
therefore no access to labels and splits.
"""

import logging
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from grader import logs
from grader.files import FileRejected, RowIds, read_submission
from grader.worker.process.child import answer_parent
from grader.worker.process.ending import end_process_after, limit_memory

logger = logging.getLogger(__name__)


def main(time_limit_seconds: int, memory_mb: int) -> None:
    """Check files until the parent closes the socket."""
    logs.configure_child("checker")
    limit_memory(memory_mb)
    row_ids = RowIds.of(())  # replaced by the row ids of the first request

    def answer(question: Sequence[Any], files: Sequence[int]) -> dict[str, Any]:
        nonlocal row_ids
        end_process_after(time_limit_seconds)
        upload, *new_row_ids = files
        if new_row_ids:
            row_ids = RowIds.from_bytes(_read(new_row_ids[0]))
        checked = _check(upload, row_ids, *question)
        end_process_after(0)
        return checked

    answer_parent(answer)


def _check(
    upload: int, row_ids: RowIds, other_labels: Sequence[str], metric_settings: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the problems and notes of a file; return an empty dict after an unexpected error."""
    with os.fdopen(upload, "rb") as file:
        try:
            if metric_settings is None:
                notes = read_submission(file, row_ids, other_labels=other_labels).notes
            else:
                # The metrics would delay the start of every child.
                from grader.scored_files import read_for_settings

                notes = read_for_settings(file, row_ids, metric_settings).notes
        except FileRejected as rejected:
            return {"problems": [problem.as_dict() for problem in rejected.problems], "notes": []}
        except Exception:
            logger.exception("A file could not be checked.")
            return {}
    return {"problems": [], "notes": [note.as_dict() for note in notes]}


def _read(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
