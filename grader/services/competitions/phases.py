"""Competition phases and stages."""

import enum
from datetime import datetime

from grader.errors import ErrorKind, OrganizerError, OrganizerRefusal
from grader.models import (
    Competition,
    CompetitionState,
    DivisionChoice,
    Team,
)
from grader.visibility import Phase


def phase(competition: Competition, now: datetime) -> Phase:
    """Return a competition's phase at `now`; drafts are never open, archived ones are closed."""
    if competition.revealed_at is not None:
        return Phase.REVEALED
    if competition.state is CompetitionState.DRAFT:
        return Phase.SCHEDULED
    if competition.state is CompetitionState.ARCHIVED:
        return Phase.CLOSED
    if competition.opens_at is not None and now < competition.opens_at:
        return Phase.SCHEDULED
    if competition.closes_at is not None and now >= competition.closes_at:
        return Phase.CLOSED
    return Phase.OPEN


def of_team(competition: Competition, team: Team | None, now: datetime) -> Phase:
    """Return a competition's phase for a team, for which it stays open during an extension."""
    usual, closes_for_team = phase(competition, now), closes_at(competition, team)
    is_closed = usual is Phase.CLOSED and competition.state is not CompetitionState.ARCHIVED
    return Phase.OPEN if is_closed and closes_for_team and now < closes_for_team else usual


def closes_at(competition: Competition, team: Team | None) -> datetime | None:
    """Return when a competition closes for a team: at the close, or at the end of a later extension."""
    ends = competition.closes_at, team.extended_until if team else None
    return competition.closes_at and max(end for end in ends if end is not None)


def reveals_at(competition: Competition) -> datetime | None:
    """Return when a competition is revealed automatically: after all final selections, if they end later."""
    ends = competition.reveals_at, competition.selection_deadline, competition.extended_until
    return competition.reveals_at and max(end for end in ends if end is not None)


def state(competition: Competition, now: datetime) -> str:
    """Return "draft" for a draft, "archived" for an archived competition, or else the name of the phase."""
    if competition.state in (CompetitionState.DRAFT, CompetitionState.ARCHIVED):
        return competition.state.value
    return phase(competition, now).value


class Stage(enum.StrEnum):
    """The stages from the opening to the reveal."""

    RUNNING = "running"
    CLOSED = "closed"
    SETTLED = "settled"
    REVEALED = "revealed"


class Archived(OrganizerError):
    """An archived competition cannot be changed."""

    public_name = "archived"
    message = "The competition is archived. Unarchive it first."


def stage(competition: Competition, now: datetime) -> Stage:
    """Return a competition's stage on the way to the reveal."""
    match phase(competition, now):
        case Phase.REVEALED:
            return Stage.REVEALED
        case Phase.CLOSED:
            return Stage.SETTLED if is_settled(competition) else Stage.CLOSED
        case _:
            return Stage.RUNNING


def takes_divisions(competition: Competition, now: datetime) -> bool:
    """Return whether leaders can choose the divisions of their teams."""
    is_open = phase(competition, now) in (Phase.SCHEDULED, Phase.OPEN)
    return is_open and competition.division_choice is DivisionChoice.TEAM and bool(competition.divisions)


def selection_open_until(competition: Competition, now: datetime) -> datetime | None:
    """Return the last deadline of a reopened selection or an extension that has not yet ended, or None."""
    ends = competition.selection_deadline, competition.extended_until
    return max((end for end in ends if end is not None and now < end), default=None)


def is_settled(competition: Competition) -> bool:
    """Return whether the private standings have been computed since the last close or selection."""
    settled_at = competition.settled_at
    ends = (competition.closes_at, competition.selection_deadline, competition.extended_until)
    return settled_at is not None and all(end is None or settled_at >= end for end in ends)


def require_revealed(competition: Competition) -> None:
    """Raise OrganizerRefusal before the private leaderboard is revealed."""
    if competition.revealed_at is None:
        message = "The private leaderboard has not been revealed. Reveal it first."
        raise OrganizerRefusal("not_revealed", ErrorKind.CONFLICT, message)
