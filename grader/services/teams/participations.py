"""Competition entry: deadline, entry code, rules, approval."""

import enum
import hmac
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Select, and_, false, or_, select
from sqlalchemy.orm import Session, aliased, joinedload

from grader.errors import ErrorKind, ParticipantError
from grader.models import (
    Competition,
    CompetitionState,
    EntryMode,
    KeptIdentity,
    Participation,
    RequestState,
    Team,
    TeamMember,
    User,
)
from grader.services.competitions import organizers, phases
from grader.services.competitions.acting import Act
from grader.services.identity import names
from grader.services.site import log
from grader.services.solutions import data_files as files
from grader.services.teams import mail, rosters
from grader.visibility import Phase


class EntryRefused(ParticipantError):
    """The person may not take part now; the message states what the person can do."""

    public_name = "entry_refused"
    kind = ErrorKind.FORBIDDEN


class NotJoined(EntryRefused):
    """The person has not joined the competition."""

    public_name = "not_joined"

    def __init__(self, competition: Competition) -> None:
        super().__init__(
            f"You have not joined this competition yet. Join it on its {entry_page(competition)} page."
        )


class RulesChanged(EntryRefused):
    """The rules have changed since the person accepted them."""

    public_name = "rules_changed"

    def __init__(self, competition: Competition) -> None:
        super().__init__(
            f"The rules have changed. Accept version {competition.rules_version} on the competition's "
            f"{entry_page(competition)} page."
        )


class RulesNotAccepted(EntryRefused):
    """A person must accept the rules to join."""

    public_name = "rules_not_accepted"
    message = "To join, read and accept version {competition.rules_version} of the rules."


class EntryPending(EntryRefused):
    """No organizer has decided on the request to join yet."""

    public_name = "entry_pending"
    message = "Your request to join is waiting for an organizer's decision."


class NotAdmitted(EntryRefused):
    """An organizer rejected the person."""

    public_name = "not_admitted"
    message = "The organizers did not admit you to this competition. Ask them for the reason."


class WrongEntryCode(EntryRefused):
    """The entry code is wrong."""

    public_name = "wrong_entry_code"
    message = "This entry code is wrong. Ask the organizers for the code."


class EntryClosed(EntryRefused):
    """The period for joining the competition is over."""

    public_name = "entry_closed"

    def __init__(self, deadline: datetime | None) -> None:
        when = f" ended at {deadline:%Y-%m-%d %H:%M:%S} UTC" if deadline else " is over"
        super().__init__(f"Entry into this competition{when}.")
        self.deadline = deadline


class LeftTeam(EntryRefused):
    """The person, possibly with another account, is bound to a team and cannot enter through another."""

    public_name = "left_team"
    message = (
        "You, another of your accounts or a member of your team is bound to the team {name}, because it "
        "submitted a file or was disqualified. You cannot compete in another team. Its leader can invite you "
        "back."
    )


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
    return bool(competition.rules) or competition.entry_mode is not EntryMode.OPEN or has_roster


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
    return find(session, competition=competition, user=user) or rejected_elsewhere(
        session, competition=competition, user=user
    )


def rejected_elsewhere(session: Session, *, competition: Competition, user: User) -> Participation | None:
    """Return the rejected participation of another account of the same person, if any."""
    query = select(Participation).where(
        Participation.competition_id == competition.id,
        Participation.state == RequestState.REFUSED,
        Participation.user_id.in_(_other_accounts([user.id])),
    )
    return session.scalar(query.limit(1))


def bound_elsewhere(
    session: Session, *, competition: Competition, user: User, participation: Participation | None
) -> Team | None:
    """Return the team to which a person is bound, also by another account of the same person."""
    is_own = Participation.id == participation.id if participation else false()
    is_theirs = or_(is_own, Participation.user_id.in_(_other_accounts([user.id])))
    return _binding_team(session, competition, is_theirs)


def bound_by_members(session: Session, *, competition: Competition, teams: Sequence[Team]) -> Team | None:
    """Return the other team to which another account of a member of these teams is bound."""
    ids = [team.id for team in teams]
    members = select(TeamMember.user_id).where(TeamMember.team_id.in_(ids))
    is_theirs = Participation.user_id.in_(_other_accounts(members)) & Team.id.not_in(ids)
    return _binding_team(session, competition, is_theirs)


def barred(session: Session, *, competition: Competition) -> set[int]:
    """Return the users who are rejected or bound to a team, and other accounts of the same people."""
    query = select(Participation.user_id).where(
        Participation.competition_id == competition.id,
        or_(Participation.state == RequestState.REFUSED, Participation.bound_team_id.is_not(None)),
    )
    return {*session.scalars(query), *session.scalars(_other_accounts(query))}


def _binding_team(session: Session, competition: Competition, is_theirs: ColumnElement[bool]) -> Team | None:
    return session.scalar(
        select(Team)
        .join(Participation, Participation.bound_team_id == Team.id)
        .where(Participation.competition_id == competition.id, is_theirs, rosters.is_binding())
        .order_by(Team.id)
        .limit(1)
    )


def _other_accounts(user_ids: Sequence[int] | Select[int]) -> Select[int]:
    """Return the query for the ids of other accounts with an identity or address of these accounts."""
    mine, other = aliased(KeptIdentity), aliased(KeptIdentity)
    return (
        select(other.user_id)
        .join(mine, and_(mine.identity_hash == other.identity_hash, mine.user_id != other.user_id))
        .where(mine.user_id.in_(user_ids))
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

    Raises RulesNotAccepted, RulesChanged, EntryClosed, WrongEntryCode or NotAdmitted.
    """
    participation = known(act.session, competition=act.competition, user=act.user)
    present = state(act.competition, participation)
    if present is EntryState.REFUSED:
        raise NotAdmitted
    is_student = is_expected(act.session, competition=act.competition, user=act.user)
    if present is EntryState.OUTSIDE:
        _require_entry(act.competition, code=None if is_student else code, now=act.now)
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
            return EntryPending()
        case EntryState.REFUSED:
            return NotAdmitted()
        case EntryState.RULES_CHANGED:
            return RulesChanged(competition)
        case EntryState.OUTSIDE:
            return _entry_closed(competition, now) or (
                NotJoined(competition) if must_ask(competition) else None
            )
        case EntryState.JOINED:
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
    """Raise DataNotOpen before the opening, or EntryRefused if the person must join first."""
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
    continues: bool = False,
    now: datetime,
) -> Team:
    """Return the team for a person's upload; the first upload creates it.

    The person must be allowed to take part. `participation` and `team` must be read under the competition's
    lock. A team's first submission binds its members to the team. If `continues`, the team has no members
    left, and the person becomes its leader.
    """
    is_new = team is None
    if team is None:
        # Existing accounts keep names that were reserved later, and administrators may have reserved names.
        wanted = f"Team of {user.name}" if names.is_reserved(user.name) else user.name
        name = rosters.free_name(session, competition=competition, name=wanted)
        team = rosters.make_team(session, competition=competition, user=user, name=name, now=now)
    joined = _joined(session, competition, user, participation, now, bound_to=team if is_new else None)
    if continues:
        rosters.add_member(session, team=team, user=user, now=now)
        team.leader_id = user.id
    elif joined.bound_team_id != team.id:
        rosters.bind(session, team=team)
    return team


def require_unbound(session: Session, participation: Participation, *, to: Team | None = None) -> None:
    """Raise LeftTeam if the person is bound to a team other than `to`."""
    bound = bound_elsewhere(
        session, competition=participation.competition, participation=participation, user=participation.user
    )
    if bound is not None and (to is None or to.id != bound.id):
        raise LeftTeam(name=bound.name)


def _require_entry(competition: Competition, *, code: str | None, now: datetime) -> None:
    """Raise EntryClosed or WrongEntryCode; None means that no code is needed."""
    if refused := _entry_closed(competition, now):
        raise refused
    if competition.entry_mode is EntryMode.CODE and code is not None:
        entered, right = code.strip().encode(errors="replace"), (competition.entry_code or "").encode()
        if not hmac.compare_digest(entered, right):
            raise WrongEntryCode


def _entry_closed(competition: Competition, now: datetime) -> EntryClosed | None:
    if is_entry_open(competition, now):
        return None
    is_over = phases.phase(competition, now) in (Phase.CLOSED, Phase.REVEALED)
    return EntryClosed(competition.closes_at if is_over else competition.entry_deadline)


def _require_rules(competition: Competition, accepted_version: int | None) -> None:
    if not competition.rules:
        return
    if accepted_version is None:
        raise RulesNotAccepted(competition=competition)
    if accepted_version != competition.rules_version:
        raise RulesChanged(competition)


def _joined(
    session: Session,
    competition: Competition,
    user: User,
    participation: Participation | None,
    now: datetime,
    *,
    bound_to: Team | None = None,
) -> Participation:
    """Return the participation of a permitted person; bind a new participation to `bound_to`, if any."""
    if participation is not None and state(competition, participation) is EntryState.JOINED:
        return participation
    return _enter(session, competition, user, participation, waits=False, now=now, bound_to=bound_to)


def _enter(
    session: Session,
    competition: Competition,
    user: User,
    participation: Participation | None,
    *,
    waits: bool,
    now: datetime,
    bound_to: Team | None = None,
) -> Participation:
    entered = participation or Participation(competition_id=competition.id, user_id=user.id)
    entered.rules_version = competition.rules_version
    entered.requested_at = now
    entered.state = RequestState.OPEN if waits else RequestState.ACCEPTED
    entered.joined_at = None if waits else now
    if bound_to is not None:
        entered.bound_team_id = bound_to.id
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


def waiting(session: Session, *, competition: Competition) -> list[Participation]:
    """Return the requests that await an organizer's decision, oldest first."""
    return _in_state(session, competition, RequestState.OPEN)


def refused(session: Session, *, competition: Competition) -> list[Participation]:
    """Return the rejected requests, oldest first."""
    return _in_state(session, competition, RequestState.REFUSED)


def _in_state(session: Session, competition: Competition, wanted: RequestState) -> list[Participation]:
    query = (
        select(Participation)
        .where(Participation.competition_id == competition.id, Participation.state == wanted)
        .options(joinedload(Participation.user))
    )
    return list(session.scalars(query.order_by(Participation.requested_at, Participation.id)))
