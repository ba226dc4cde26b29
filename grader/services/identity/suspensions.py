"""Suspension, reinstatement and deletion of accounts by administrators."""

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, Refusal
from grader.models import AccountLink, AnnouncedUpload, ApiToken, User
from grader.services.competitions.acting import Act
from grader.services.identity import accounts, kept_identities, logins
from grader.services.site import log
from grader.services.teams.moderation import REASON_MAX_LENGTH
from grader.text import one_line

# A lock that actions of this person with a locked competition do not wait for, which would be a deadlock.
KEY_SHARED = {"key_share": True}


def suspend(act: Act, *, user: User, reason: str, secret: str) -> None:
    """Suspend an account: end its sessions, tokens and links; keep its teams and results.

    Other members lead its teams from now on. Raises Refusal.
    """
    session, now = act.session, act.now
    reason = one_line(reason, REASON_MAX_LENGTH)
    person = _held(act, user, reason)
    if person.suspended_at is not None:
        raise _refusal("not_suspended", f"The account {person.name} is already suspended.")
    kept_identities.keep(session, user=person, secret=secret)
    person.suspended_at, person.suspension_reason = now, reason
    logins.end_all(session, user=person)
    of_token = ApiToken.user_id == person.id, ApiToken.revoked_at.is_(None)
    session.execute(update(ApiToken).where(*of_token).values(revoked_at=now))
    for table in (AccountLink, AnnouncedUpload):  # the URL of an upload is its secret
        session.execute(delete(table).where(table.user_id == person.id))
    accounts.hand_over_teams(session, user=person)
    act.record("account.suspend", f"person {log.mention(person)}", reason=reason)


def reinstate(act: Act, *, user: User, reason: str) -> None:
    """End a suspension; sessions and tokens stay ended. Raises Refusal."""
    person = _locked(act.session, user)
    if person.suspended_at is None:
        raise _refusal("not_suspended", f"The account {person.name} is not suspended.")
    person.suspended_at, person.suspension_reason = None, ""
    reason = one_line(reason, REASON_MAX_LENGTH)
    act.record("account.reinstate", f"person {log.mention(person)}", reason=reason)


def remove(act: Act, *, user: User, reason: str, secret: str) -> None:
    """Delete another person's account by anonymizing it; see `accounts.delete_account`.

    Raises Refusal or OnlyOwner.
    """
    reason = one_line(reason, REASON_MAX_LENGTH)
    person = _held(act, user, reason)
    accounts.delete_account(act.session, user=person, secret=secret, actor=act.actor, now=act.now)
    act.record("account.delete", f"person {log.mention(person)}", reason=reason)


def _refusal(name: str, message: str) -> Refusal:
    return Refusal(name, ErrorKind.CONFLICT, message)


def _held(act: Act, user: User, reason: str) -> User:
    if not reason:
        message = "Enter a reason. The audit log stores it, and a suspended user sees it at the next login."
        raise Refusal("reason_missing", ErrorKind.INVALID, message)
    person = _locked(act.session, user)
    if act.actor.user is not None and act.actor.user.id == person.id:
        message = "You cannot suspend or delete your own account here. Use your account page."
        raise _refusal("not_suspendable", message)
    if person.is_admin:
        raise _refusal("not_suspendable", f"{person.name} is an administrator. Revoke that role first.")
    return person


def _locked(session: Session, user: User) -> User:
    person = session.get_one(User, user.id, populate_existing=True, with_for_update=KEY_SHARED)
    if person.deleted_at is not None:
        raise _refusal("not_suspended", "The account was deleted in the meantime.")
    return person
