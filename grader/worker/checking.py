"""File checks before submission, without access to labels and splits."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from grader.files import FileRejected, RowIds
from grader.metrics.registry import of_settings
from grader.scored_files import columns_of, read_encoded
from grader.worker import isolated
from grader.worker.isolated import Busy, CallDied, OpenFile

SECONDS = 10

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CheckerResult:
    """Problems and notes of a checked file as JSON-ready data."""

    problems: list[dict[str, Any]]
    notes: list[dict[str, Any]]


def check(
    upload: BinaryIO,
    row_ids: BinaryIO,
    *,
    memory_mb: int,
    metric_settings: Mapping[str, Any],
    other_labels: Sequence[str] = (),
) -> CheckerResult | None:
    """Return the problems and notes of a file, or None if it was not checked.

    A file for the bias metric may have columns with the names in `other_labels`. A file that takes too long
    is checked only when it is scored.
    """
    limits: Any = {"seconds": SECONDS, "memory_mb": memory_mb}
    files = OpenFile(upload), OpenFile(row_ids)
    try:
        return isolated.call(_check, *files, metric_settings, other_labels, **limits)
    except (CallDied, Busy) as error:
        logger.warning("A file was not checked: %r.", error)
        return None


def _check(
    upload: BinaryIO, row_ids: BinaryIO, metric_settings: Mapping[str, Any], other_labels: Sequence[str]
) -> CheckerResult | None:
    ids = RowIds(row_ids.read())
    try:
        metric, wanted = of_settings(metric_settings), columns_of(metric_settings)
        file, _ = read_encoded(upload, ids, metric, wanted, other_labels=other_labels)
    except FileRejected as rejected:
        return CheckerResult([problem.as_dict() for problem in rejected.problems], [])
    except Exception:
        logger.exception("A file could not be checked.")
        return None
    return CheckerResult([], [note.as_dict() for note in file.notes])
