"""Steps of closing: settling, reveal of the private leaderboard, and what remains to be done.

A competition is settled once every submission accepted in time has a result: the private standings are then
computed but hidden. The reveal publishes them by updating a single row, so no reader sees a mix of two
states.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.orm import Session

from grader import db
from grader.errors import ErrorKind, OrganizerError, OrganizerRefusal
from grader.models import (
    Competition,
    CompetitionState,
    Split,
    Standing,
    Submission,
    SubmissionKind,
    SubmissionStatus,
    Team,
    TeamMember,
    User,
    on_board,
)
from grader.services.competitions import lookup, phases, settings
from grader.services.competitions.acting import Act
from grader.services.competitions.phases import Archived, Stage
from grader.services.leaderboards import rows
from grader.services.leaderboards.ranks import Standings
from grader.services.rescoring import preparation
from grader.services.site import letters, outbox
from grader.visibility import Phase


class ScoringPending(OrganizerError):
    """Submissions accepted in time are still being scored."""

    public_name = "scoring_pending"
    retry_after = timedelta(seconds=10)

    def __init__(self, count: int) -> None:
        noun = "submission is" if count == 1 else "submissions are"
        super().__init__(f"{count:,} {noun} still being scored. Reveal the leaderboard once all are scored.")
        self.count = count


class AlreadyRevealed(OrganizerError):
    """The private leaderboard is already public."""

    public_name = "already_revealed"
    message = "The private leaderboard was revealed at {revealed_at:%-d %b %Y, %H:%M:%S} UTC."


class NotClosed(OrganizerError):
    """The competition has not closed yet."""

    public_name = "not_closed"

    def __init__(self, closes_at: datetime | None) -> None:
        when = f" It closes at {closes_at:%-d %b %Y, %H:%M:%S} UTC." if closes_at else ""
        super().__init__(f"The competition has not closed yet.{when}")
        self.closes_at = closes_at


def _not_yet_open(opens_at: datetime | None) -> OrganizerRefusal:
    when = f" until {opens_at:%-d %b %Y, %H:%M:%S} UTC" if opens_at else ""
    message = f"The competition is not open{when}, so it cannot be closed or revealed."
    return OrganizerRefusal("not_yet_open", ErrorKind.CONFLICT, message)


def close_now(act: Act, *, reason: str = "") -> None:
    """Close an open competition.

    Entry and mergers end, and dates that derive from the close move with it.

    Raises OrganizerRefusal or Archived.
    """
    competition, now = act.competition, act.now
    if competition.state is CompetitionState.ARCHIVED:
        raise Archived
    phase = phases.phase(competition, now)
    if phase is Phase.SCHEDULED:
        raise _not_yet_open(competition.opens_at)
    if phase is not Phase.OPEN:
        when = f" at {competition.closes_at:%-d %b %Y, %H:%M:%S} UTC" if competition.closes_at else ""
        raise OrganizerRefusal("already_closed", ErrorKind.CONFLICT, f"The competition closed{when}.")
    settings.change(act, changes=_ends(competition, now), reason=reason)


def _ends(competition: Competition, now: datetime) -> dict[str, datetime]:
    """Return the dates that change if a competition closes now."""
    dates = dict(settings.of(competition))
    later = [name for name in ("entry_deadline", "merger_deadline") if (dates[name] or now) > now]
    return dict.fromkeys(["closes_at", *later], now)


def settle(session: Session, *, competition: Competition, now: datetime | None = None) -> Competition:
    """Compute the hidden private standings of a closed competition, unless it is settled.

    Raises NotClosed, OrganizerRefusal or, if a submission accepted in time has no result, ScoringPending.
    """
    competition = lookup.lock(session, competition_id=competition.id)
    now = now or db.now(session)
    if phases.phase(competition, now) not in (Phase.CLOSED, Phase.REVEALED):
        raise NotClosed(competition.closes_at)
    _settle(session, competition, now)
    session.flush()
    return competition


def reveal(act: Act) -> None:
    """Reveal the private standings, and close a competition that is still open as `close_now` does.

    Raises OrganizerRefusal, AlreadyRevealed, Archived or, if a submission accepted in time has no result,
    ScoringPending.
    """
    session, competition, now = act.session, act.competition, act.now
    if competition.revealed_at is not None:
        raise AlreadyRevealed(revealed_at=competition.revealed_at)
    if competition.state is CompetitionState.ARCHIVED:
        raise Archived
    before = _state(competition)
    phase = phases.phase(competition, now)
    if phase is Phase.SCHEDULED:
        raise _not_yet_open(competition.opens_at)
    text = "The private leaderboard was revealed."
    if phase is not Phase.CLOSED:
        settings.apply(settings.of(competition).changed(**_ends(competition, now)), competition)
        text += " The competition was still open and was closed at the same time."
    _settle(session, competition, now)
    competition.state = CompetitionState.REVEALED
    competition.revealed_at = now
    session.flush()
    _mail_reveal(session, competition=competition, now=now)
    act.record(
        "competition.reveal",
        f"competition {competition.slug}",
        before=before,
        after=_state(competition),
        public_text=text,
    )


def unsettled(session: Session, *, now: datetime) -> list[Competition]:
    """Return the closed competitions that can be settled."""
    pending = (
        select(Submission.id)
        .where(
            Submission.competition_id == Competition.id,
            Submission.status == SubmissionStatus.PENDING,
            Submission.kind != SubmissionKind.LATE,
        )
        .exists()
    )
    closed = select(Competition).where(
        Competition.state == CompetitionState.PUBLISHED,
        Competition.closes_at <= now,
        _selection_is_over(now),
        ~pending,
    )
    return [competition for competition in session.scalars(closed) if not phases.is_settled(competition)]


def due(session: Session, *, now: datetime) -> list[Competition]:
    """Return the competitions whose automatic reveal is due."""
    return list(
        session.scalars(
            select(Competition).where(
                Competition.state == CompetitionState.PUBLISHED,
                Competition.closes_at <= now,
                Competition.reveals_at <= now,
                _selection_is_over(now),
            )
        )
    )


def _state(competition: Competition) -> dict[str, Any]:
    return {name: getattr(competition, name) for name in ("state", "closes_at", "revealed_at")}


def _selection_is_over(now: datetime) -> ColumnElement[bool]:
    ends = Competition.selection_deadline, Competition.extended_until
    return and_(*(or_(end.is_(None), end <= now) for end in ends))


def _settle(session: Session, competition: Competition, now: datetime) -> None:
    until = phases.selection_open_until(competition, now)
    if until is not None:
        message = (
            f"Final selections can be changed until {until:%-d %b %Y, %H:%M} UTC. The private "
            "leaderboard cannot be revealed before then."
        )
        raise OrganizerRefusal("selection_open", ErrorKind.CONFLICT, message)
    if count := unscored(session, competition=competition, status=SubmissionStatus.PENDING):
        raise ScoringPending(count)
    if phases.is_settled(competition):
        return
    version_id = lookup.live(competition).id
    rows.write(session, competition=competition, scoring_version_id=version_id, splits=(Split.PRIVATE,))
    competition.settled_at = now


def unscored(session: Session, *, competition: Competition, status: SubmissionStatus) -> int:
    """Return how many submissions accepted in time have this status."""
    query = select(func.count()).where(
        Submission.competition_id == competition.id,
        Submission.status == status,
        # Not `!=`, for which SQLite would read all entries of the index.
        Submission.kind.in_(each for each in SubmissionKind if each is not SubmissionKind.LATE),
    )
    return session.scalar(query) or 0


@dataclass(frozen=True, slots=True)
class CloseState:
    """The progress of the close, with the remaining tasks.

    `selection_open_until` is set while a reopened final selection delays the other steps. `waiting_count` and
    `failed_count` are the numbers of submissions that were accepted in time but have no result.
    """

    stage: Stage
    selection_open_until: datetime | None
    waiting_count: int
    failed_count: int
    preparing: int | None


def state(session: Session, *, competition: Competition, now: datetime) -> CloseState:
    """Return the state of a competition's close."""
    preparing = preparation.open_version(session, competition=competition)
    return CloseState(
        phases.stage(competition, now),
        phases.selection_open_until(competition, now),
        unscored(session, competition=competition, status=SubmissionStatus.PENDING),
        unscored(session, competition=competition, status=SubmissionStatus.FAILED),
        preparing.number if preparing else None,
    )


def _mail_reveal(session: Session, *, competition: Competition, now: datetime) -> None:
    """E-mail the result to the members of ranked teams who have a verified address."""
    version_id = lookup.live(competition).id
    readers = session.execute(
        select(User, Team.id, Team.name, Team.division)
        .join(TeamMember, TeamMember.user_id == User.id)
        .join(Team, Team.id == TeamMember.team_id)
        .join(Standing, Standing.team_id == Team.id)
        .where(
            TeamMember.competition_id == competition.id,
            *on_board(version_id, Split.PRIVATE),
            User.email_verified_at.is_not(None),
        )
        .order_by(User.id)
    ).all()
    if not readers:
        return
    private, public = (
        Standings(session, version_id, split).ranks() for split in (Split.PRIVATE, Split.PUBLIC)
    )
    inside = (
        Standings(session, version_id, Split.PRIVATE).ranks_in_divisions() if competition.divisions else {}
    )
    bodies = (
        (
            user,
            letters.body(
                "revealed",
                competition=competition,
                team=team,
                private_rank=private[team_id],
                team_count=len(private),
                public_rank=public.get(team_id),
                division=division,
                division_rank=inside.get(team_id),
            ),
        )
        for user, team_id, team, division in readers
    )
    outbox.notify(
        session,
        bodies,
        kind=outbox.Notice.RESULTS,
        key=f"results:{competition.id}",
        subject=letters.subject("revealed", competition=competition),
        now=now,
    )
