"""Stored HTML of competition texts: detection of missing HTML, and storage."""

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import null, select
from sqlalchemy.orm import Session

from grader.models import Announcement, Competition
from grader.models.competitions import TEXTS
from grader.prose.drawn import Drawn, FigureSource
from grader.services.competitions import figures


class UnformattedRow(NamedTuple):
    """A row with texts that have no stored HTML, and the competition's figures."""

    model: type[Competition] | type[Announcement]
    row_id: int
    texts: tuple[str, ...]
    figures: tuple[FigureSource, ...]


def key_of(text: str) -> str:
    """Return the key of a text's HTML."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def figures_of(session: Session, *, competition: Competition) -> tuple[FigureSource, ...]:
    """Return the figures with their URLs relative to the competition's; each URL changes with its image."""
    return tuple(
        FigureSource(each.name, f"figures/{each.name}?version={each.sha256[:12]}", each.width, each.height)
        for each in figures.list_all(session, competition=competition)
    )


def waiting(session: Session, *, slug: str | None = None, limit: int) -> list[UnformattedRow]:
    """Return rows that have texts without stored HTML, for one competition or for all."""
    rows: list[Competition | Announcement] = []
    rows += session.scalars(_waiting(select(Competition), Competition, slug).limit(limit))
    joined = select(Announcement).join(Competition, Announcement.competition_id == Competition.id)
    rows += session.scalars(_waiting(joined, Announcement, slug).limit(limit))
    return [_of(session, each) for each in rows]


def record(session: Session, *, waiting: UnformattedRow, drawn: Mapping[str, Drawn]) -> None:
    """Store the HTML of a row's texts unless a text or a figure has changed in the meantime."""
    row: Any = session.get(waiting.model, waiting.row_id, with_for_update=True, populate_existing=True)
    if row is None or _of(session, row) != waiting:
        return
    row.formatted = {
        key_of(text): {"html": str(each.html), "faults": list(each.faults)} for text, each in drawn.items()
    }
    if isinstance(row, Competition):
        row.summary = drawn[row.overview].summary
    session.flush()


def _waiting(query: Any, model: type[Competition] | type[Announcement], slug: str | None) -> Any:
    query = query.where(model.formatted.is_(null())).order_by(model.id)
    return query if slug is None else query.where(Competition.slug == slug)


def _of(session: Session, row: Competition | Announcement) -> UnformattedRow:
    if isinstance(row, Announcement):
        competition, texts = session.get_one(Competition, row.competition_id), (row.body,)
    else:
        competition, texts = row, tuple(getattr(row, name) for name in TEXTS)
    return UnformattedRow(type(row), row.id, texts, figures_of(session, competition=competition))
