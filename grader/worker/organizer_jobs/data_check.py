"""The job that checks data files for leaks of the solution."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas  # noqa: F401 - before the memory is limited

from grader import db
from grader.crash_points import reach
from grader.disclosure import Examined, Hidden, NotReadNow, examine
from grader.disclosure.source import Budget
from grader.files import RowIds
from grader.models import Competition, DataFile, Solution
from grader.services.data_files import checks
from grader.services.solutions import canary_rows
from grader.services.solutions.truth import Truth
from grader.storage.stores import StorageUnavailable
from grader.worker.organizer_jobs.context import Work
from grader.worker.process.limits import memory_limited_beyond_now

MEMORY_MB = 512  # beside what the imports and the solution take


def check(work: Work) -> dict[str, Any]:
    """Check one file after another, and write at once what came of each: another attempt does the rest."""
    work.report_progress(0, 0, "Reading the solution")
    checked: list[str] = []
    known: tuple[list[int], Hidden] | None = None
    while True:
        with work.database.read() as session:
            competition = session.get_one(Competition, work.competition_id)
            waiting = checks.stale(session, competition=competition)
            solutions = checks.solutions_of(session, competition=competition)
        if not waiting:
            return {"checked": checked}
        ids = [solution.id for solution in solutions]
        if known is None or known[0] != ids:
            known = ids, hidden_by(work, solutions)
        file = waiting[0]
        examined = _examined(work, file, known[1])
        reach("data_check.before_record")
        with work.database.write() as session:
            checks.record_outcome(
                session,
                competition_id=work.competition_id,
                file_id=file.id,
                sha256=file.sha256,
                key=checks.key_of(file, solutions),
                examined=examined,
                now=db.now(session),
            )
        checked.append(file.name)
        work.keep(lambda: {"checked": checked})


def hidden_by(work: Work, solutions: Sequence[Solution]) -> Hidden:
    """Return what solutions hide, together."""
    found: dict[tuple[str, str], list[Hidden]] = {}
    for solution in solutions:
        place = solution.row_ids_sha256, solution.prepared_sha256
        if place not in found:
            row_ids = RowIds.from_bytes(work.storage.read(solution.row_ids_sha256))
            truth = Truth.from_bytes(work.storage.read(solution.prepared_sha256))
            found[place] = [_hidden(solution, row_ids, truth)]
            if canaries := canary_rows.read(solution.canaries):  # a file of the true labels is a leak too
                before = canary_rows.restored(row_ids, truth, canaries)
                found[place].append(_hidden(solution, row_ids, before))
    first, *others = [each for hidden in found.values() for each in hidden]
    for other in others:
        first = first.with_other(other)
    return first


def _hidden(solution: Solution, row_ids: RowIds, truth: Truth) -> Hidden:
    return Hidden.of(
        list(row_ids),
        label=(solution.report.get("label") or "label", truth.labels),
        other_labels=truth.other_labels,
        identities=truth.identities,
        usage=truth.usage,
    )


def _examined(work: Work, file: DataFile, hidden: Hidden) -> Examined:
    tell = partial(_tell, work, file)
    tell(0)
    try:
        with memory_limited_beyond_now(MEMORY_MB), work.storage.open(file.sha256) as stream:
            return examine(stream, hidden, budget=Budget(size=file.size_bytes, tell=tell))
    except NotReadNow as error:
        raise StorageUnavailable(f"{file.name} could not be read: {error}.") from error


def _tell(work: Work, file: DataFile, size: int) -> None:
    work.report_progress(min(size, file.size_bytes), file.size_bytes, f"Checking {file.name}")
