"""Jobs for published solutions: the solution file."""

import logging
from typing import Any

from grader.db import Database
from grader.models import Competition
from grader.services.competitions import lookup
from grader.services.solutions import publication
from grader.storage.stores import BlobDamaged, BlobMissing, Storage
from grader.worker.organizer_jobs.context import Work

logger = logging.getLogger(__name__)


def write_solution(work: Work) -> dict[str, Any]:
    """Store the file of the live version's solution under its digest."""
    work.report_progress(0, 0, "Writing the solution")
    with work.database.read() as session:
        competition = session.get_one(Competition, work.competition_id)
        solution = lookup.live(competition).solution
    work.storage.put(b"".join(publication.canonical_pieces(work.storage, solution=solution)))
    return {"solution": solution.digest}


def write_missing_files(database: Database, storage: Storage) -> None:
    """Write the missing files of published solutions, which backups do not contain."""
    with database.read() as session:
        found = publication.list_all(session)
    for solution in found:
        if storage.exists(solution.digest):
            continue
        try:
            storage.put(b"".join(publication.canonical_pieces(storage, solution=solution)))
        except (BlobMissing, BlobDamaged) as error:
            logger.warning("The file of solution %s cannot be written: %s", solution.id, error)
