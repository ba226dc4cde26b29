"""Authentication: session and device cookies, login, logout, views with required roles."""

import hashlib
import hmac
import secrets
from contextlib import suppress
from datetime import timedelta
from typing import Any
from urllib.parse import unquote

from flask import Flask, Response, g, make_response, redirect, request, session, url_for
from flask.globals import request_ctx
from itsdangerous import BadSignature
from werkzeug.exceptions import HTTPException

from grader import db
from grader.identity_providers import Provider
from grader.models import FactorPurpose, User
from grader.services.identity import logins, second_factors
from webapp.http import context
from webapp.http.context import LOGIN_COOKIE
from webapp.http.site import Site, current_site, signer

STEP, TARGET, PROVIDER = "factor_step", "factor_target", "factor_provider"
"""Keys in the signed cookie: the token of a step with a second factor, and the page to open after login."""
FLOWS = "oidc_flows"  # key of the attempts to log in at a provider
TARGET_MAX_LENGTH = 500  # cookies are limited to 4 KB


def init_app(app: Flask, site: Site) -> None:
    """Configure the cookies and identify the user of every request."""
    app.config.update(
        SECRET_KEY=site.settings.secret(),
        SESSION_COOKIE_NAME=site.cookie_name("fairboard_session"),
        SESSION_COOKIE_SECURE=site.is_https,
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
    )
    context.init_app(app)
    app.add_template_global(way_back)


def log_in(
    db_session: Any, user: User, *, target: str | None = None, provider: Provider | None = None
) -> Response:
    """Start a session and return a redirect with its cookie, by default to the page `next` of the request.

    If the account has a second factor, the redirect leads to its page, which starts the session.
    """
    target = safe_target(request.values.get("next") if target is None else target)
    try:
        return start_session(db_session, user, target=target, provider=provider)
    except logins.SecondFactorAsked:
        now = db.now(db_session)
        token = second_factors.begin(db_session, user=user, purpose=FactorPurpose.LOG_IN, now=now)
    _clear_session()
    session[STEP], session[TARGET] = token, target if len(target) <= TARGET_MAX_LENGTH else None
    session[PROVIDER] = None if provider is None else provider.slug
    return make_response(redirect(url_for("account.second_factor")))


def start_session(
    db_session: Any,
    user: User,
    *,
    target: str,
    provider: Provider | None = None,
    has_proved_factor: bool = False,
) -> Response:
    """Start a session, end the browser's earlier one, and return a redirect with the new cookie.

    Raises SecondFactorAsked.
    """
    site = current_site()
    lifetime = timedelta(days=site.settings.login_days)
    if provider is not None and provider.session_hours is not None:
        lifetime = timedelta(hours=provider.session_hours)
    token = logins.start(
        db_session,
        user=user,
        user_agent=request.user_agent.string,
        lifetime=lifetime,
        provider=None if provider is None else provider.slug,
        has_proved_factor=has_proved_factor,
        now=db.now(db_session),
    )
    _end_current_login(db_session)
    response = make_response(redirect(target))
    know_device(response, user)
    _clear_session()
    return _set_cookie(response, LOGIN_COOKIE, token, lifetime)


def _set_cookie(response: Response, name: str, value: str, lifetime: timedelta) -> Response:
    site = current_site()
    response.set_cookie(
        site.cookie_name(name),
        value,
        max_age=lifetime,
        secure=site.is_https,
        httponly=True,
        samesite="Lax",
    )
    return response


def _clear_session() -> None:
    """Forget the time before a login, except login attempts at a provider in other tabs."""
    flows = session.get(FLOWS)
    session.clear()
    if flows:
        session[FLOWS] = flows


def log_out() -> Response:
    """End the current session; return a redirect that deletes the cookie."""
    site = current_site()
    with site.database.write() as db_session:
        _end_current_login(db_session)
    session.clear()
    provider = g.login.provider if g.get("login") is not None else None
    page = url_for("account.logged_out", provider=provider) if provider in site.providers else None
    response = make_response(redirect(page or url_for("competitions.index")))
    return _set_cookie(response, LOGIN_COOKIE, "", timedelta(0))


def safe_target(target: str | None) -> str:
    """Return `target` if it is a page of this site, otherwise the start page."""
    home = url_for("competitions.index")
    if not target or not _is_local_path(target):
        return home
    adapter = request_ctx.url_adapter
    try:
        adapter.match(target.partition("?")[0], method="GET")  # type: ignore[union-attr]
    except HTTPException:  # an unknown URL, or one that would be redirected
        return home
    return target


def way_back() -> str | None:
    """Return the page to return to after logging in or signing up; None for the start page."""
    if request.blueprint == "account":
        return request.args.get("next")
    if request.method != "GET" or request.endpoint in (None, "competitions.index"):
        return None
    return request.full_path.rstrip("?")


def _is_local_path(target: str) -> bool:
    plain = unquote(target)
    is_printable = plain.isprintable() and target.isascii()
    return is_printable and plain.startswith("/") and not plain.startswith("//") and "\\" not in plain


def _end_current_login(db_session: Any) -> None:
    if cookie := request.cookies.get(current_site().cookie_name(LOGIN_COOKIE)):
        logins.end(db_session, token=cookie)


COOKIE = "fairboard_device"
KEPT = timedelta(days=180)
MOST = 8

_Entry = tuple[int, str, str]  # user id, device id, password mark


def device_of(user: User | None) -> str | None:
    """Return the id of the request's device, or None if the user has never logged in on it."""
    if user is None:
        return None
    mark = _mark(user)
    return next(
        (device for user_id, device, known in _devices() if (user_id, known) == (user.id, mark)), None
    )


def know_device(response: Response, user: User) -> Response:
    """Return the response with the cookie of a device on which a user logged in or set a password."""
    device = device_of(user) or secrets.token_hex(8)
    others = [entry for entry in _devices() if entry[0] != user.id]
    entries = [(user.id, device, _mark(user)), *others][:MOST]
    return _set_cookie(response, COOKIE, str(signer(COOKIE).dumps(entries)), KEPT)


def _devices() -> list[_Entry]:
    sent = list[Any]()
    with suppress(BadSignature):
        cookie = request.cookies.get(current_site().cookie_name(COOKIE), "")
        sent = signer(COOKIE).loads(cookie, max_age=int(KEPT.total_seconds()))
    return [tuple(entry) for entry in sent]


def _mark(user: User) -> str:
    """Return a hash that changes with the password, so that a device is forgotten then."""
    key, text = current_site().settings.secret().encode(), f"{COOKIE}: {user.id}: {user.password_hash}"
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()[:32]
