"""Keyed hashes of identities and addresses, by which several accounts of one person are recognized."""

from datetime import datetime

from sqlalchemy import ColumnElement, exists, select
from sqlalchemy.orm import Session

from grader.db import insert_new
from grader.models import Competition, CompetitionState, Identity, KeptIdentity, Participation, User
from grader.services.accounts import logins


def keep(session: Session, *, user: User, secret: str) -> None:
    """Store the hashes of a user's present identities and of the verified address.

    Call this after an identity or an address is added and before one is removed.
    """
    known = session.execute(select(Identity.issuer, Identity.subject).where(Identity.user_id == user.id))
    texts = [f"identity {issuer}\0{subject}" for issuer, subject in known]
    if user.email_key:
        texts.append(f"address {user.email_key}")
    rows = [{"user_id": user.id, "identity_hash": logins.keyed_hash(secret, each)} for each in texts]
    if rows:
        insert_new(session, KeptIdentity, rows)


def is_old(now: datetime) -> ColumnElement[bool]:  # noqa: ARG001
    """Return the SQL condition for deleted accounts that joined no competition before its reveal."""
    runs = exists().where(
        Participation.user_id == KeptIdentity.user_id,
        Participation.competition_id == Competition.id,
        Competition.state == CompetitionState.PUBLISHED,
        Competition.revealed_at.is_(None),
    )
    return KeptIdentity.user_id.in_(select(User.id).where(User.deleted_at.is_not(None))) & ~runs
