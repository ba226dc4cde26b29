"""Password checks on the login and account pages, with limits on wrong passwords."""

from collections.abc import Callable
from functools import partial

from flask import g, request

from grader import db
from grader.models import User
from grader.services.identity import accounts, login_guesses, names
from grader.services.identity.login_guesses import Guesser
from webapp.http import auth
from webapp.http.context import reading
from webapp.http.site import Site, current_site


def authenticate(name: str, password: str) -> User | None:
    """Return the account if the password is correct; the check takes the same time in either case.

    Raises Refusal.
    """
    site = current_site()
    with reading() as session:
        user = names.find_user(session, name=name)
        secret = site.settings.secret()
        guesser = Guesser(
            account=login_guesses.account_hash(name, secret=secret),
            address=login_guesses.address_hash(request.remote_addr, secret=secret),
            device=auth.device_of(user),
        )
    is_right = _look(site, guesser, partial(accounts.has_password, user, password, passwords=site.passwords))
    return user if is_right else None


def own_password_is_right(password: str) -> bool:
    """Return whether this is the current user's password.

    Raises Refusal.
    """
    site = current_site()
    secret = site.settings.secret()
    guesser = Guesser(
        account=login_guesses.account_hash(g.user.name, secret=secret),
        address=login_guesses.address_hash(request.remote_addr, secret=secret),
        device=f"session of {g.user.id}",
    )
    return _look(site, guesser, partial(accounts.has_password, g.user, password, passwords=site.passwords))


def _look(site: Site, guesser: Guesser, is_right: Callable[[], bool]) -> bool:
    """Reject attempts over a limit; count any other attempt before checking its password."""
    if not site.settings.rate_limits:
        return is_right()
    site.passwords.require_place(is_known=guesser.device is not None)
    with reading() as session:
        login_guesses.require_room(session, guesser=guesser, now=db.now(session))
    with site.passwords.turn(is_known=guesser.device is not None):
        with site.database.write() as session:
            counted = login_guesses.begin(session, guesser=guesser, now=db.now(session))
        is_match = is_right()
    if is_match:
        with site.database.write() as session:
            login_guesses.take_back(session, counted=counted)
    return is_match
