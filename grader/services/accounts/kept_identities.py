"""Keyed hashes of identities and addresses, by which several accounts of one person are recognized."""

from datetime import datetime

from sqlalchemy import ColumnElement, exists, select
from sqlalchemy.orm import Session

from grader.db import insert_new
from grader.errors import ErrorKind, ParticipantError
from grader.models import Competition, CompetitionState, Identity, KeptIdentity, Participation, User
from grader.services.accounts import logins


class SuspendedPerson(ParticipantError):
    """The address or identity belongs to a suspended account."""

    public_name = "suspended_person"
    kind = ErrorKind.FORBIDDEN
    message = (
        "The account of the person with this e-mail address or login was suspended on this site. Contact the "
        "site's administrators."
    )


def keep(session: Session, *, user: User, secret: str) -> None:
    """Store the hashes of a user's present identities and of the verified address.

    Call this after an identity or an address is added and before one is removed. Raises SuspendedPerson if
    another account with one of the hashes is suspended.
    """
    known = session.execute(select(Identity.issuer, Identity.subject).where(Identity.user_id == user.id))
    texts = [f"identity {issuer}\0{subject}" for issuer, subject in known]
    if user.email_key:
        texts.append(f"address {user.email_key}")
    rows = [{"user_id": user.id, "identity_hash": logins.keyed_hash(secret, each)} for each in texts]
    if rows:
        hashes = KeptIdentity.identity_hash.in_([row["identity_hash"] for row in rows])
        is_other = KeptIdentity.user_id == User.id, User.id != user.id, User.suspended_at.is_not(None)
        if session.scalar(select(exists().where(hashes, *is_other))):
            raise SuspendedPerson
        insert_new(session, KeptIdentity, rows)


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
