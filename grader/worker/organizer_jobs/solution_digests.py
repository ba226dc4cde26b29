"""Write missing commitments of cloned solutions, and published solution files after a restore."""

import logging
from collections.abc import Collection

from grader.db import Database
from grader.models import Solution
from grader.services.solutions import publication
from grader.storage.stores import BlobDamaged, BlobMissing, Storage

logger = logging.getLogger(__name__)


def with_digest(database: Database, storage: Storage, solution: Solution) -> str:
    """Return a solution's digest; it and the commitment are computed and written where they are missing."""
    if solution.digest is None or solution.commitment is None:
        digest, commitment = publication.committed(storage, solution=solution)
        with database.write() as session:
            publication.keep_commitment(session, solution=solution, digest=digest, commitment=commitment)
        return digest
    return solution.digest


def note_missing(database: Database, storage: Storage, *, but: Collection[int] = ()) -> set[int]:
    """Write the commitments that are missing, and return the ids of the solutions that keep none.

    One whose blobs are not whole is named in the log, and left alone where it is among those in `but`.
    """
    with database.read() as session:
        found = publication.without_commitment(session)
    lacking = set()
    for solution in found:
        if solution.id in but:
            lacking.add(solution.id)
            continue
        try:
            with_digest(database, storage, solution)
        except (BlobMissing, BlobDamaged) as error:
            logger.warning("Solution %s has no commitment: %s", solution.id, error)
            lacking.add(solution.id)
    return lacking


def write_missing_files(database: Database, storage: Storage) -> None:
    """Write the files of published solutions that are missing: a backup does not hold them."""
    with database.read() as session:
        found = publication.list_all(session)
    for solution in found:
        if solution.digest is None or storage.exists(solution.digest):
            continue
        try:
            storage.put(b"".join(publication.canonical_pieces(storage, solution=solution)))
        except (BlobMissing, BlobDamaged) as error:
            logger.warning("The file of solution %s cannot be written: %s", solution.id, error)
