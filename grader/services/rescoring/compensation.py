"""Compensation with a published rescoring: message, extra submissions, later close or selection deadline."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from sqlalchemy.orm import Session

from grader.errors import OrganizerError, SeveralProblems
from grader.models import Competition, ScoringVersion
from grader.services.audit.log import Actor
from grader.services.competitions import settings
from grader.services.limits import grants
from grader.services.submissions import selections
from grader.text import counted, plain_text

NOTICE_MAX_LENGTH = 5_000


class InvalidPublication(SeveralProblems, OrganizerError):
    """What a publication is to give cannot be given."""

    public_name = "invalid_publication"


@dataclass(frozen=True, slots=True)
class Amends:
    """What participants get with a publication; by default nothing.

    The `notice` is mailed and shown with the old and new public score of each of a team's submissions. The
    extra submissions are for `extra_day`, by default the day of the publication (UTC).
    """

    notice: str = ""
    extra_submissions: int = 0
    extra_day: date | None = None
    closes_at: datetime | None = None
    selection_deadline: datetime | None = None


NO_AMENDS = Amends()


def notice(amends: Amends, *, competition: Competition, now: datetime) -> str:
    """Return what participants read: the organizer's words and what they are given; blank without words.

    Raises InvalidPublication.
    """
    words = plain_text(amends.notice)
    if len(words) > NOTICE_MAX_LENGTH:
        raise InvalidPublication(
            [f"The message has at most {NOTICE_MAX_LENGTH:,} characters; this one has {len(words):,}."]
        )
    given = " ".join(_told(competition, amends, now))
    return f"{words}\n\n{given}" if words and given else words


def _told(competition: Competition, amends: Amends, now: datetime) -> Iterator[str]:
    if amends.extra_submissions:
        day = amends.extra_day or now.astimezone(UTC).date()
        submissions = counted(amends.extra_submissions, "extra submission")
        closes_at = amends.closes_at or competition.closes_at
        until = grants.ends_at(competition, day=day, closes_at=closes_at)
        yield f"Every team gets {submissions} on {day:%Y-%m-%d} (UTC), until {until:%Y-%m-%d %H:%M} UTC."
    if amends.closes_at is not None and amends.closes_at != competition.closes_at:
        yield f"The competition closes at {amends.closes_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC now."
    if amends.selection_deadline is not None:
        until = amends.selection_deadline.astimezone(UTC)
        yield f"The final selection can be changed until {until:%Y-%m-%d %H:%M} UTC."


def give(
    session: Session,
    amends: Amends,
    *,
    competition: Competition,
    version: ScoringVersion,
    actor: Actor,
    now: datetime,
) -> None:
    """Apply the compensation; raise InvalidPublication with every part that cannot be applied."""
    act: dict[str, Any] = {
        "competition": competition,
        "reason": f"Scoring version {version.number} was published.",
        "actor": actor,
        "now": now,
    }
    problems: list[str] = []
    if amends.closes_at is not None and amends.closes_at != competition.closes_at:
        with _collected(problems):
            settings.change(session, changes={"closes_at": amends.closes_at}, **act)
    if amends.selection_deadline is not None:
        with _collected(problems):
            selections.reopen(session, until=amends.selection_deadline, **act)
    if amends.extra_submissions:
        day = amends.extra_day or now.astimezone(UTC).date()
        with _collected(problems):
            grants.grant(session, team=None, day=day, count=amends.extra_submissions, **act)
    if problems:
        raise InvalidPublication(problems)


@contextmanager
def _collected(problems: list[str]) -> Iterator[None]:
    try:
        yield
    except OrganizerError as error:
        problems += getattr(error, "problems", (error.message,))
