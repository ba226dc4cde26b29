"""What solutions lack that were stored by an older version or restored: digests, and published files."""

import logging

from grader.db import Database
from grader.models import Solution
from grader.services import canonical_solutions, published_solutions
from grader.storage import BlobDamaged, BlobMissing, Storage

logger = logging.getLogger(__name__)


def with_digest(database: Database, storage: Storage, solution: Solution) -> str:
    """Return a solution's digest, computed and written where it is missing."""
    if solution.digest is None:
        digest = canonical_solutions.digest_of(storage, solution=solution)
        with database.write() as session:
            canonical_solutions.note_digest(session, solution=solution, digest=digest)
        return digest
    return solution.digest


def note_missing(database: Database, storage: Storage) -> None:
    """Write the digests that are missing; a solution whose blobs are not whole is named in the log."""
    with database.read() as session:
        found = canonical_solutions.without_digest(session)
    for solution in found:
        try:
            with_digest(database, storage, solution)
        except (BlobMissing, BlobDamaged) as error:
            logger.warning("Solution %s has no digest: %s", solution.id, error)


def write_missing_files(database: Database, storage: Storage) -> None:
    """Write the files of published solutions that are missing: a backup does not hold them."""
    with database.read() as session:
        found = published_solutions.list_all(session)
    for solution in found:
        if solution.digest is None or storage.exists(solution.digest):
            continue
        try:
            storage.put(b"".join(canonical_solutions.pieces(storage, solution=solution)))
        except (BlobMissing, BlobDamaged) as error:
            logger.warning("The file of solution %s cannot be written: %s", solution.id, error)
