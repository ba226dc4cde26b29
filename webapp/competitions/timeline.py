"""The dates of a competition in their order, and where now lies among them."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from grader.models import Competition

_AT_THE_END = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Moment:
    """A date of a competition; `at` is None where nobody has set it."""

    words: str
    at: datetime | None
    is_past: bool


def of(competition: Competition, now: datetime) -> list[Moment]:
    """Return the dates that are set, the first to come first, and the reveal at the end where it has none."""
    found = [
        Moment(past if is_past else words, at, is_past)
        for words, past, at in _dates(competition)
        for is_past in [at is not None and at <= now]
    ]
    return sorted(found, key=lambda moment: moment.at or _AT_THE_END)


def _dates(competition: Competition) -> Iterator[tuple[str, str, datetime | None]]:
    """Yield the words before and after each date, and the date; in the order of those at the same time."""
    closes_at, revealed_at = competition.closes_at, competition.revealed_at
    if competition.opens_at is not None:
        yield "Opens", "Opened", competition.opens_at
    if _is_before(competition.entry_deadline, closes_at):
        yield "Joining ends", "Joining ended", competition.entry_deadline
    if _is_before(competition.merger_deadline, closes_at):
        yield "Mergers end", "Mergers ended", competition.merger_deadline
    if closes_at is not None:
        yield "Closes", "Closed", closes_at
    if competition.selection_deadline is not None and competition.selection_deadline != closes_at:
        yield "Final choice", "Final choice", competition.selection_deadline
    if revealed_at is not None or closes_at is not None:
        yield "Results", "Results", revealed_at or competition.reveals_at


def _is_before(deadline: datetime | None, closes_at: datetime | None) -> bool:
    """Return whether a deadline says anything: the close ends what it would end, if that comes first."""
    return deadline is not None and (closes_at is None or deadline < closes_at)
