"""Join requests: approval or rejection by organizers."""

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from grader.models import Competition, Participation, RequestState, User
from grader.services.audit import log
from grader.services.competitions.acting import Act
from grader.services.teams import mail, participations


def decide(act: Act, *, user: User, admits: bool) -> Participation:
    """Admit or reject a person, at any time and even if the person has not asked to join.

    An admitted person who has not asked to join must still accept the rules before the first upload.
    """
    session, competition, now = act.session, act.competition, act.now
    participation = participations.find(session, competition=competition, user=user)
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
