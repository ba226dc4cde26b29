"""Results bundle: a ZIP archive of the exported tables, the published solution and a README."""

import json
from collections.abc import Iterable, Iterator
from io import RawIOBase
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from sqlalchemy.orm import Session

from grader.errors import ErrorKind, OrganizerRefusal
from grader.models import Competition
from grader.services.closing import tables
from grader.services.closing.tables import TableKind
from grader.services.competitions import lookup
from grader.services.competitions.metric import Rules
from grader.storage.stores import Storage

README = """\
Results of {title}

Revealed on {revealed_at:%-d %b %Y, %H:%M} UTC. The scores are those of scoring version {scoring_version}.

standings.csv         the public and private leaderboards
scores.csv            the exact results of all submissions on both splits, also by identity or group
submissions.csv       all submissions with the sha256 of their files
{solution}
The metric is {metric}, code version {code_version}, with these settings:

{settings}

Commitment to the solution: {commitment}
"""
PUBLISHED = """\
solution.csv          the solution in its canonical form
solution-nonce.txt    the nonce: the commitment is the sha256 of it and the sha256 of solution.csv
"""
UNPUBLISHED = """
The solution is not published. The exact results can disclose labels, so do not distribute them.
"""


class _Buffer(RawIOBase):
    """A buffer for the bytes that a ZipFile has written since the last read."""

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def write(self, data: Any, /) -> int:
        self._written.append(bytes(data))
        return len(self._written[-1])

    def take(self) -> bytes:
        taken = b"".join(self._written)
        self._written.clear()
        return taken


def require_revealed(competition: Competition) -> None:
    """Raise OrganizerRefusal if there is no bundle yet."""
    if competition.revealed_at is None:
        message = "The private leaderboard has not been revealed. Reveal it first."
        raise OrganizerRefusal("not_revealed", ErrorKind.CONFLICT, message)


def write(session: Session, *, competition: Competition, storage: Storage) -> Iterator[bytes]:
    """Yield the ZIP archive in pieces."""
    buffer = _Buffer()
    with ZipFile(buffer, "w") as archive:
        for name, pieces in _files(session, competition, storage):
            entry = ZipInfo(f"{competition.slug}/{name}")
            entry.compress_type, entry.external_attr = ZIP_DEFLATED, 0o644 << 16
            with archive.open(entry, "w") as file:
                for piece in pieces:
                    file.write(piece.encode() if isinstance(piece, str) else piece)
                    yield buffer.take()
    yield buffer.take()


def _files(
    session: Session, competition: Competition, storage: Storage
) -> Iterator[tuple[str, Iterable[str | bytes]]]:
    version = lookup.live(competition)
    solution, rules = version.solution, Rules.of(version)
    is_published = competition.solution_published_at is not None
    yield (
        "README.txt",
        [
            README.format(
                title=competition.title,
                revealed_at=competition.revealed_at,
                scoring_version=version.number,
                solution=PUBLISHED if is_published else UNPUBLISHED,
                metric=rules.about.title,
                code_version=version.metric_code_version,
                settings=json.dumps(rules.as_settings(), ensure_ascii=False, indent=2),
                commitment=solution.commitment,
            )
        ],
    )
    for kind in (TableKind.STANDINGS, TableKind.SCORES, TableKind.SUBMISSIONS):
        pieces = tables.write(session, competition=competition, kind=kind)
        yield f"{kind}.csv", pieces
    if is_published:
        yield "solution.csv", [storage.read(solution.digest)]
        yield "solution-nonce.txt", [solution.nonce]
