"""Keyed hashes of identities and addresses, which identify several accounts of one person.

Three rules use them: who is suspended gets no other account, who was rejected from a competition stays
rejected, and who has a counting file in a competition has no second team. They hold after a deletion.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Select, exists, select
from sqlalchemy.orm import Session, aliased

from grader.db import insert_new
from grader.errors import ErrorKind, Refusal
from grader.models import (
    Competition,
    CompetitionState,
    Identity,
    KeptIdentity,
    Participation,
    RequestState,
    Team,
    TeamMember,
    User,
)
from grader.services.identity import logins
from grader.services.site import mail_addresses as addresses
from grader.services.teams import rosters


def keep(session: Session, *, user: User, secret: str) -> None:
    """Store the hashes of a user's current identities and verified addresses.

    Call this before an identity or an address is removed.
    """
    if hashes := _hashes(session, user, secret):
        insert_new(session, KeptIdentity, [{"user_id": user.id, "identity_hash": each} for each in hashes])


def keep_new(session: Session, *, user: User, secret: str) -> None:
    """Store the hashes after an identity or an address is added.

    Raises Refusal if another account with one of the hashes is suspended.
    """
    require_not_suspended(session, user=user, hashes=_hashes(session, user, secret))
    keep(session, user=user, secret=secret)


def require_not_suspended(session: Session, *, user: User, hashes: Sequence[str]) -> None:
    """Raise Refusal if another account with one of the hashes is suspended."""
    same = KeptIdentity.identity_hash.in_(hashes), KeptIdentity.user_id != user.id
    is_suspended = KeptIdentity.user_id == User.id, User.suspended_at.is_not(None)
    if session.scalar(select(exists().where(*same, *is_suspended))):
        message = (
            "The account of the person with this e-mail address or login was suspended on this site. Contact "
            "the site's administrators."
        )
        raise Refusal("suspended_person", ErrorKind.FORBIDDEN, message)


def others(user_ids: Sequence[int] | Select[int]) -> Select[int]:
    """Return the query for the ids of other accounts with an identity or address of these accounts."""
    mine, other = aliased(KeptIdentity), aliased(KeptIdentity)
    same = (mine.identity_hash == other.identity_hash) & (mine.user_id != other.user_id)
    return select(other.user_id).join(mine, same).where(mine.user_id.in_(user_ids))


def refused(session: Session, *, competition: Competition, user: User) -> Participation | None:
    """Return the rejected participation of another account of the same person, if any."""
    query = select(Participation).where(
        Participation.competition_id == competition.id,
        Participation.state == RequestState.REFUSED,
        Participation.user_id.in_(others([user.id])),
    )
    return session.scalar(query.limit(1))


def counting_team(
    session: Session,
    *,
    competition: Competition,
    user_ids: Sequence[int] | Select[int],
    but_for: Sequence[Team],
) -> Team | None:
    """Return another team with a counting file and another account of these users, except `but_for`."""
    here = Team.competition_id == competition.id, Team.id.not_in([each.id for each in but_for])
    theirs = TeamMember.user_id.in_(others(user_ids)), rosters.counts()
    query = select(Team).join(TeamMember).where(*here, *theirs)
    return session.scalar(query.order_by(Team.id).limit(1))


def is_old(now: datetime) -> ColumnElement[bool]:  # noqa: ARG001
    """Return the SQL condition for deleted accounts that joined no competition before its reveal.

    The hashes of suspended accounts are never old.
    """
    runs = exists().where(
        Participation.user_id == KeptIdentity.user_id,
        Participation.competition_id == Competition.id,
        Competition.state == CompetitionState.PUBLISHED,
        Competition.revealed_at.is_(None),
    )
    gone = select(User.id).where(User.deleted_at.is_not(None), User.suspended_at.is_(None))
    return KeptIdentity.user_id.in_(gone) & ~runs


def address_hash(secret: str, address: str) -> str:
    """Return the hash of an address."""
    return logins.keyed_hash(secret, f"address {addresses.key(address)}")


def _hashes(session: Session, user: User, secret: str) -> list[str]:
    identities = session.scalars(select(Identity).where(Identity.user_id == user.id)).all()
    hashes = [logins.keyed_hash(secret, f"identity {each.issuer}\0{each.subject}") for each in identities]
    verified = [user.email_key, *(each.email for each in identities)]
    return [*hashes, *dict.fromkeys(address_hash(secret, each) for each in verified if each)]
