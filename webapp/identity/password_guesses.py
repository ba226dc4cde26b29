"""Password checks on the login and account pages, with limits on wrong passwords."""

from dataclasses import replace

from flask import g, request

from grader import db
from grader.errors import ErrorKind, Refusal
from grader.models import User
from grader.services.identity import accounts, identities, login_guesses, names
from grader.services.identity.login_guesses import Guesser
from grader.services.site import counting
from webapp.http import auth
from webapp.http.context import reading
from webapp.http.site import current_site


def guesser(name: str, user: User | None, *, is_code: bool = False) -> Guesser:
    """Return the account and the origin of an attempt in this request."""
    secret = current_site().settings.secret()
    return Guesser(
        account=login_guesses.account_hash(name, secret=secret),
        address=login_guesses.address_hash(request.remote_addr, secret=secret),
        device=auth.device_of(user),
        is_code=is_code,
    )


def authenticate(name: str, password: str) -> User:
    """Return the account with this name and password; raise Refusal.

    The check takes the same time whether or not the account exists.
    """
    with reading() as session:
        user = names.find_user(session, name=name)
        attempt = guesser(name, user)
    is_right = _is_right(user, password, attempt)
    if user is None or not (is_right and identities.may_use_password(user, current_site().settings)):
        raise Refusal("wrong_password", ErrorKind.MISMATCH, "Wrong name or password.")
    return user


def own_password_is_right(password: str) -> bool:
    """Return whether this is the current user's password.

    Raises Refusal.
    """
    in_session = replace(guesser(g.user.name, None), device=f"session of {g.user.id}")
    return _is_right(g.user, password, in_session)


def _is_right(user: User | None, password: str, attempt: Guesser) -> bool:
    """Reject attempts over a limit; count any other attempt before checking its password."""
    site, counted = current_site(), tuple[int, ...]()
    is_known = attempt.device is not None
    site.passwords.require_place(is_known=is_known)
    if site.settings.rate_limits:
        with reading() as session:
            login_guesses.require_room(session, guesser=attempt, now=db.now(session))
    with site.passwords.turn(is_known=is_known):
        if site.settings.rate_limits:
            with site.database.write() as session:
                counted = login_guesses.begin(session, guesser=attempt, now=db.now(session))
        is_right = accounts.has_password(user, password, passwords=site.passwords)
    if is_right and counted:
        with site.database.write() as session:
            counting.take_back(session, ids=counted)
    return is_right
