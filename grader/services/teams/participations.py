"""Competition entry: deadline, entry code, rules, approval."""

import enum
import hmac
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Select, select
from sqlalchemy.orm import Session, joinedload

from grader.errors import ErrorKind, Refusal
from grader.models import (
    Competition,
    CompetitionState,
    EntryMode,
    Participation,
    RequestState,
    Team,
    TeamMember,
    User,
)
from grader.services.competitions import organizers, phases, team_names
from grader.services.competitions.acting import Act
from grader.services.identity import kept_identities, names
from grader.services.site import log
from grader.services.solutions import data_files as files
from grader.services.teams import mail, rosters
from grader.visibility import Phase, Visibility


class EntryRefused(Refusal):
    """The person may not take part now; the message states what the person can do."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(name, ErrorKind.FORBIDDEN, message)


class EntryState(enum.StrEnum):
    """A person's entry state in a competition, such as joined, waiting or rejected."""

    OUTSIDE = "outside"
    WAITING = "waiting"
    REFUSED = "refused"
    RULES_CHANGED = "rules_changed"
    JOINED = "joined"


def entry_page(competition: Competition) -> str:
    """Return the title of the page on which users join."""
    return "Rules" if competition.rules else "Join"


def must_ask(competition: Competition) -> bool:
    """Return whether users must join explicitly; otherwise, their first submission joins them."""
    has_roster = competition.section_use is not None  # joining links students to the roster
    is_unlisted = competition.visibility is Visibility.UNLISTED  # only participants read it
    is_restricted = competition.entry_mode is not EntryMode.OPEN
    return bool(competition.rules) or is_restricted or has_roster or is_unlisted


def competition_ids(session: Session, *, user: User | None) -> frozenset[int]:
    """Return the ids of the competitions that a user has joined, or in which the user has a team."""
    if user is None:
        return frozenset()
    joined = select(Participation.competition_id).where(
        Participation.user_id == user.id, Participation.state == RequestState.ACCEPTED
    )
    in_teams = select(TeamMember.competition_id).where(TeamMember.user_id == user.id)
    return frozenset(session.scalars(joined.union(in_teams)))


def is_entry_open(competition: Competition, now: datetime) -> bool:
    """Return whether users can join: until the entry deadline, and again for late submissions."""
    if competition.state is CompetitionState.ARCHIVED:
        return False
    phase = phases.phase(competition, now)
    if phase is Phase.REVEALED:
        return competition.takes_late_submissions
    deadline = competition.entry_deadline
    return phase is not Phase.CLOSED and (deadline is None or now < deadline)


def find(session: Session, *, competition: Competition, user: User) -> Participation | None:
    """Return a person's participation in a competition."""
    query = select(Participation).where(
        Participation.competition_id == competition.id, Participation.user_id == user.id
    )
    return session.scalar(query.execution_options(populate_existing=True))


def known(session: Session, *, competition: Competition, user: User) -> Participation | None:
    """Return a person's participation, or else the rejected one of another account of the same person."""
    return find(session, competition=competition, user=user) or kept_identities.refused(
        session, competition=competition, user=user
    )


def state(competition: Competition, participation: Participation | None) -> EntryState:
    """Return the entry state that follows from a person's participation."""
    if participation is None or participation.state is RequestState.WITHDRAWN:
        return EntryState.OUTSIDE
    if participation.state is RequestState.OPEN:
        return EntryState.WAITING
    if participation.state is RequestState.REFUSED:
        return EntryState.REFUSED
    if competition.rules and participation.rules_version != competition.rules_version:
        return EntryState.RULES_CHANGED
    return EntryState.JOINED


def join(
    act: Act,
    *,
    accepted_rules_version: int | None = None,
    code: str = "",
) -> Participation:
    """Join, request to join, or accept changed rules; record the accepted version.

    Raises EntryRefused.
    """
    participation = known(act.session, competition=act.competition, user=act.user)
    present = require_can_join(act.competition, participation, now=act.now)
    is_student = is_expected(act.session, competition=act.competition, user=act.user)
    if present is EntryState.OUTSIDE and not is_student:
        _require_code(act.competition, code)
    _require_rules(act.competition, accepted_rules_version)
    if participation is None or present is EntryState.OUTSIDE:
        role = organizers.role_of(act.session, competition=act.competition, user=act.user)
        waits = act.competition.entry_mode is EntryMode.APPROVAL and role is None and not is_student
        entered = _enter(act.session, act.competition, act.user, participation, waits=waits, now=act.now)
        if waits:
            mail.asked_to_join(
                act.session, competition=act.competition, participation=entered, user=act.user, now=act.now
            )
        return entered
    participation.rules_version = act.competition.rules_version
    act.session.flush()
    return participation


def require_can_join(
    competition: Competition, participation: Participation | None, *, now: datetime
) -> EntryState:
    """Return a person's entry state; raise EntryRefused if the person was rejected or entry has ended."""
    present = state(competition, participation)
    if present is EntryState.REFUSED:
        raise _not_admitted()
    if present is EntryState.OUTSIDE and (closed := _entry_closed(competition, now)):
        raise closed
    return present


def is_expected(session: Session, *, competition: Competition, user: User) -> bool:
    """Return whether a user is on the roster, so that only the rules and the deadline apply."""
    return rosters.student(session, competition=competition, user=user) is not None


def refusal(
    competition: Competition, participation: Participation | None, *, now: datetime
) -> EntryRefused | None:
    """Return why a person may not take part and what to do about it; None if the person may take part.

    If entry is unrestricted, anyone may act: a person joins with the first action.
    """
    match state(competition, participation):
        case EntryState.WAITING:
            message = "Your request to join is waiting for an organizer's decision."
            return EntryRefused("entry_pending", message)
        case EntryState.REFUSED:
            return _not_admitted()
        case EntryState.RULES_CHANGED:
            return _rules_changed(competition)
        case EntryState.OUTSIDE if closed := _entry_closed(competition, now):
            return closed
        case EntryState.OUTSIDE if must_ask(competition):
            page = entry_page(competition)
            message = f"You have not joined this competition yet. Join it on its {page} page."
            return EntryRefused("not_joined", message)
    return None


def require_joined(session: Session, *, competition: Competition, user: User, now: datetime) -> Participation:
    """Return a person's participation; if entry is unrestricted, join a new person silently.

    The competition must be locked. Raises EntryRefused with a message that states what to do.
    """
    participation = known(session, competition=competition, user=user)
    if refused := refusal(competition, participation, now=now):
        raise refused
    return _joined(session, competition, user, participation, now)


def require_data_access(session: Session, *, competition: Competition, user: User, now: datetime) -> None:
    """Raise Refusal before the opening, or EntryRefused if the person must join first."""
    files.require_open(competition, now=now)
    if must_ask(competition):
        require_joined(session, competition=competition, user=user, now=now)


def team_for_upload(
    session: Session,
    *,
    competition: Competition,
    user: User,
    participation: Participation | None,
    team: Team | None,
    now: datetime,
) -> Team:
    """Return the team for a person's upload; the first upload creates it.

    The person must be allowed to take part. `participation` and `team` must be read under the competition's
    lock.
    """
    if team is None:
        # Existing accounts keep names that were reserved later, and administrators may have reserved names.
        wanted = f"Team of {user.name}" if names.is_reserved(user.name) else user.name
        name = rosters.free_name(session, competition=competition, name=wanted)
        team = rosters.make_team(session, competition=competition, user=user, name=name, now=now)
    _joined(session, competition, user, participation, now)
    return team


def competes_elsewhere(team: Team, competition: Competition) -> EntryRefused:
    """Return the refusal for people with another account in a team that cannot be left."""
    return EntryRefused(
        "competes_elsewhere",
        "Another account of yours or of a member of your team is already competing in the team "
        f"{team_names.shown(team, competition)}. One person can compete in only one team.",
    )


def require_one_team(
    session: Session, *, competition: Competition, users: Sequence[int] | Select[int], teams: Sequence[Team]
) -> None:
    """Raise EntryRefused if another account of these users competes in another team than these."""
    other = kept_identities.counting_team(session, competition=competition, user_ids=users, but_for=teams)
    if other is not None:
        raise competes_elsewhere(other, competition)


def _not_admitted() -> EntryRefused:
    message = "The organizers did not admit you to this competition. Ask them for the reason."
    return EntryRefused("not_admitted", message)


def _rules_changed(competition: Competition) -> EntryRefused:
    return EntryRefused(
        "rules_changed",
        f"The rules have changed. Accept version {competition.rules_version} on the competition's "
        f"{entry_page(competition)} page.",
    )


def _require_code(competition: Competition, code: str) -> None:
    if competition.entry_mode is EntryMode.CODE:
        entered, right = code.strip().encode(errors="replace"), (competition.entry_code or "").encode()
        if not hmac.compare_digest(entered, right):
            message = "This entry code is wrong. Ask the organizers for the code."
            raise EntryRefused("wrong_entry_code", message)


def _entry_closed(competition: Competition, now: datetime) -> EntryRefused | None:
    if is_entry_open(competition, now):
        return None
    is_over = phases.phase(competition, now) in (Phase.CLOSED, Phase.REVEALED)
    deadline = competition.closes_at if is_over else competition.entry_deadline
    when = f" ended at {deadline:%-d %b %Y, %H:%M:%S} UTC" if deadline else " is over"
    return EntryRefused("entry_closed", f"Entry into this competition{when}.")


def _require_rules(competition: Competition, accepted_version: int | None) -> None:
    if not competition.rules:
        return
    if accepted_version is None:
        message = f"To join, read and accept version {competition.rules_version} of the rules."
        raise EntryRefused("rules_not_accepted", message)
    if accepted_version != competition.rules_version:
        raise _rules_changed(competition)


def _joined(
    session: Session,
    competition: Competition,
    user: User,
    participation: Participation | None,
    now: datetime,
) -> Participation:
    """Return the participation of a permitted person."""
    if participation is not None and state(competition, participation) is EntryState.JOINED:
        return participation
    return _enter(session, competition, user, participation, waits=False, now=now)


def _enter(
    session: Session,
    competition: Competition,
    user: User,
    participation: Participation | None,
    *,
    waits: bool,
    now: datetime,
) -> Participation:
    entered = participation or Participation(competition_id=competition.id, user_id=user.id)
    entered.rules_version = competition.rules_version
    entered.requested_at = now
    entered.state = RequestState.OPEN if waits else RequestState.ACCEPTED
    entered.joined_at = None if waits else now
    session.add(entered)
    session.flush()
    rosters.enter_student(session, competition=competition, user=user, now=now)
    return entered


def decide(act: Act, *, user: User, admits: bool) -> Participation:
    """Admit or reject a person, at any time and even if the person has not asked to join.

    An admitted person who has not asked to join must still accept the rules before the first upload.
    """
    session, competition, now = act.session, act.competition, act.now
    participation = find(session, competition=competition, user=user)
    if participation is None:
        participation = Participation(
            competition_id=competition.id, user_id=user.id, rules_version=0, requested_at=now
        )
        session.add(participation)
    before = participation.state
    participation.state = RequestState.ACCEPTED if admits else RequestState.REFUSED
    participation.joined_at = (participation.joined_at or now) if admits else None
    session.flush()
    mail.decided(session, competition=competition, user=user, admits=admits, now=now)
    act.record(
        "entry.admit" if admits else "entry.refuse",
        f"person {log.mention(user)}",
        before={"state": before},
        after={"state": participation.state},
    )
    return participation


def in_state(session: Session, *, competition: Competition, wanted: RequestState) -> list[Participation]:
    """Return the requests to join that wait for a decision or were rejected, oldest first."""
    query = (
        select(Participation)
        .where(Participation.competition_id == competition.id, Participation.state == wanted)
        .options(joinedload(Participation.user))
    )
    return list(session.scalars(query.order_by(Participation.requested_at, Participation.id)))
