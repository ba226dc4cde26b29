"""Keyed hashes of identities and addresses, by which several accounts of one person are recognized."""

from datetime import datetime

from sqlalchemy import ColumnElement, exists, select
from sqlalchemy.orm import Session

from grader.db import insert_new
from grader.errors import ErrorKind, ParticipantError
from grader.models import Competition, CompetitionState, Identity, KeptIdentity, Participation, User
from grader.services.identity import logins
from grader.services.site import mail_addresses as addresses


class SuspendedPerson(ParticipantError):
    """The address or identity belongs to a suspended account."""

    public_name = "suspended_person"
    kind = ErrorKind.FORBIDDEN
    message = (
        "The account of the person with this e-mail address or login was suspended on this site. Contact the "
        "site's administrators."
    )


def keep(session: Session, *, user: User, secret: str) -> None:
    """Store the hashes of a user's present identities and of the addresses that the site or they verified.

    Call this before an identity or an address is removed.
    """
    if hashes := _hashes(session, user, secret):
        insert_new(session, KeptIdentity, [{"user_id": user.id, "identity_hash": each} for each in hashes])


def keep_new(session: Session, *, user: User, secret: str) -> None:
    """Store the hashes after an identity or an address is added.

    Raises SuspendedPerson if another account with one of the hashes is suspended.
    """
    _require_not_suspended(session, user, _hashes(session, user, secret))
    keep(session, user=user, secret=secret)


def require_not_suspended(session: Session, *, user: User, address: str, secret: str) -> None:
    """Raise SuspendedPerson if another account with an address is suspended."""
    _require_not_suspended(session, user, [_address_hash(secret, addresses.key(address))])


def _require_not_suspended(session: Session, user: User, hashes: list[str]) -> None:
    same = KeptIdentity.identity_hash.in_(hashes), KeptIdentity.user_id != user.id
    is_suspended = KeptIdentity.user_id == User.id, User.suspended_at.is_not(None)
    if session.scalar(select(exists().where(*same, *is_suspended))):
        raise SuspendedPerson


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


def _hashes(session: Session, user: User, secret: str) -> list[str]:
    identities = session.scalars(select(Identity).where(Identity.user_id == user.id)).all()
    hashes = [logins.keyed_hash(secret, f"identity {each.issuer}\0{each.subject}") for each in identities]
    keys = [user.email_key, *(each.email and addresses.key(each.email) for each in identities)]
    return [*hashes, *(_address_hash(secret, each) for each in dict.fromkeys(keys) if each)]


def _address_hash(secret: str, key: str) -> str:
    return logins.keyed_hash(secret, f"address {key}")
