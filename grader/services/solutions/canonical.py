"""Publishable form of a stored solution: its CSV file, digest and commitment.

Only workers and organizers' commands open the blobs that it is made of.
"""

from collections.abc import Iterator

from sqlalchemy import or_, select, update
from sqlalchemy.orm import Session

from grader.files import RowIds
from grader.files.solution.canonical_form import canonical_solution, hashes
from grader.models import Solution
from grader.services.solutions import intake
from grader.services.solutions.intake import Commitment
from grader.services.solutions.truth import Truth
from grader.storage.stores import Storage


def pieces(storage: Storage, *, solution: Solution) -> Iterator[bytes]:
    """Yield the canonical form of a stored solution."""
    truth = Truth.from_bytes(storage.read(solution.prepared_sha256))
    row_ids = RowIds.from_bytes(storage.read(solution.row_ids_sha256))
    return canonical_solution(row_ids, truth.labels, truth.identities, truth.usage)


def committed(storage: Storage, *, solution: Solution) -> tuple[str, Commitment]:
    """Compute the digest of a stored solution and a commitment to it with a new nonce."""
    nonce = intake.new_nonce(solution.canaries)
    digest, value = hashes(pieces(storage, solution=solution), nonce=nonce)
    return digest, Commitment(nonce=nonce.hex(), value=value)


def without_commitment(session: Session) -> list[Solution]:
    """Return the solutions without a digest or commitment: clones, whose blobs only workers read."""
    lacking = or_(Solution.digest.is_(None), Solution.commitment.is_(None))
    return list(session.scalars(select(Solution).where(lacking).order_by(Solution.id)))


def note(session: Session, *, solution: Solution, digest: str, commitment: Commitment) -> None:
    """Write the missing digest and commitment of a solution; existing ones are never replaced."""
    mine = update(Solution).where(Solution.id == solution.id).execution_options(synchronize_session=False)
    session.execute(mine.where(Solution.digest.is_(None)).values(digest=digest))
    session.execute(
        mine.where(Solution.commitment.is_(None)).values(nonce=commitment.nonce, commitment=commitment.value)
    )
