"""Solutions in their canonical form, which is what is published, and their digests.

Only workers and organizers' commands open the blobs that it is made of.
"""

import hashlib
from collections.abc import Iterator

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from grader.files import RowIds
from grader.files.digest import canonical_solution
from grader.models import Solution
from grader.services.truth import Truth
from grader.storage import Storage


def pieces(storage: Storage, *, solution: Solution) -> Iterator[bytes]:
    """Yield the canonical form of a stored solution."""
    truth = Truth.from_bytes(storage.read(solution.prepared_sha256))
    row_ids = RowIds.from_bytes(storage.read(solution.row_ids_sha256))
    return canonical_solution(row_ids, truth.labels, truth.identities, truth.usage)


def digest_of(storage: Storage, *, solution: Solution) -> str:
    """Compute the digest of a stored solution."""
    digest = hashlib.sha256()
    for piece in pieces(storage, solution=solution):
        digest.update(piece)
    return digest.hexdigest()


def without_digest(session: Session) -> list[Solution]:
    """Return the solutions that were stored before digests were noted."""
    return list(session.scalars(select(Solution).where(Solution.digest.is_(None)).order_by(Solution.id)))


def note_digest(session: Session, *, solution: Solution, digest: str) -> None:
    """Write a solution's digest if it has none."""
    session.execute(
        update(Solution)
        .where(Solution.id == solution.id, Solution.digest.is_(None))
        .values(digest=digest)
        .execution_options(synchronize_session=False)
    )
