"""View of why a person cannot send a file now: until when, and the one link that helps."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from flask import url_for

from grader.errors import ParticipantError
from grader.services.competitions.pauses import SubmissionsPaused
from grader.services.limits import limits
from grader.services.submissions import refusal, selections
from grader.services.submissions.situation import Situation
from grader.services.teams import participations
from webapp.competitions.views import CompetitionView
from webapp.presentation import formats

FINALS, LIST, REJECTED = "#finals", "#submissions", "#rejected"


@dataclass(frozen=True, slots=True)
class ClosedDoor:
    """What the page says in the place of its form; `is_short` where the next score opens it again."""

    title: str
    reason: str
    until: datetime | None = None
    left: str = ""
    link: str = ""
    link_words: str = ""
    is_short: bool = False
    is_limit: bool = False


def closed_door(
    found: Situation, refused: ParticipantError | None, competition: CompetitionView
) -> ClosedDoor | None:
    """Return why the person cannot send a file, None if they can."""
    if refused is None:
        return None
    if isinstance(refused, limits.LimitReached):
        return replace(_of_limit(refused, found), is_limit=True)
    if isinstance(refused, participations.EntryRefused):
        return _of_entry(refused, competition)
    if isinstance(refused, refusal.TeamDisqualified):
        team = url_for("teams.show", slug=competition.slug)
        return _door("Disqualified", refused.message, team, "Your team")
    return _of_phase(refused, found, competition)


def _of_limit(refused: limits.LimitReached, found: Situation) -> ClosedDoor:
    finals = (FINALS, "Choose your finals") if selections.is_open(found.competition, found.now) else ("", "")
    match refused:
        case limits.DailyLimitReached():
            reason = f"Your team has used its {formats.counted(refused.limit, 'submission')} of today."
            return _door("Nothing left today", reason, *finals, until=refused.retry_at, now=found.now)
        case limits.TotalLimitReached():
            used = formats.counted(refused.limit, "submission")
            return _door("Nothing left", f"Your team has used its {used} of the whole competition.", *finals)
        case limits.TooManyPending():
            limit = formats.counted(refused.limit, "file")
            reason = (
                f"At most {limit} of your team may wait at once. The form comes back with the next score."
            )
            return _door("Waiting for your scores", reason, LIST, "See what waits", is_short=True)
        case _:
            reason = f"Rejected within the last hour: {formats.counted(refused.limit, 'file')} of your team."
            return _door(
                "Too many rejected files", reason, REJECTED, "See what is wrong with them",
                until=refused.retry_at, now=found.now,
            )  # fmt: skip


def _of_entry(refused: participations.EntryRefused, competition: CompetitionView) -> ClosedDoor:
    join = url_for("entry.show", slug=competition.slug)
    match refused:
        case participations.NotJoined():
            words = "Read and accept the rules" if competition.rules else "Join"
            return _door("Join first", refused.message, join, words)
        case participations.RulesChanged():
            return _door("The rules have changed", refused.message, join, "Read and accept the rules")
        case participations.LeftTeam():
            team = url_for("teams.show", slug=competition.slug)
            return _door("You left your team", refused.message, team, "Your team")
        case participations.NotAdmitted() if competition.contact_link:
            return _door("Not admitted", refused.message, competition.contact_link, "Ask the organizers")
        case participations.EntryPending():
            return _door("Your request is waiting", refused.message, join, "See your request")
        case _:
            return _door("You cannot take part", refused.message, join, competition.entry_page)


def _of_phase(refused: ParticipantError, found: Situation, competition: CompetitionView) -> ClosedDoor:
    home = url_for("competitions.show", slug=competition.slug)
    match refused:
        case SubmissionsPaused():
            return _door("Paused", competition.why_not_open, home, "See the announcements")
        case refusal.CompetitionNotOpen():
            return _door(
                "Not open yet", competition.why_not_open, home, "See what it is about",
                until=refused.opens_at, now=found.now,
            )  # fmt: skip
        case refusal.CompetitionClosed() if selections.is_open(found.competition, found.now) and not (
            found.team and found.team.is_disqualified
        ):
            return _door("Closed", competition.why_not_open, FINALS, "Choose your finals")
        case _:
            board = "leaderboards.private" if competition.is_revealed else "leaderboards.public"
            words = competition.why_not_open
            title = "Archived" if competition.is_archived else "Closed"
            return _door(title, words, url_for(board, slug=competition.slug), "Leaderboard")


def _door(
    title: str,
    reason: str,
    link: str = "",
    link_words: str = "",
    *,
    until: datetime | None = None,
    now: datetime | None = None,
    **flags: Any,
) -> ClosedDoor:
    left = formats.span(until - now) if until and now else ""
    return ClosedDoor(title, reason, until, left, link, link_words, **flags)
