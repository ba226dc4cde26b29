"""Who is logged in: login cookie on pages, bearer token in the API; log in, log out, login required.

The cookie holds a random token and the database its sha256: a login ends on the server, and a new one never
reuses an old cookie. Flask's own signed session carries only the form token and messages; it is emptied at
login and logout.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import wraps
from typing import Any
from urllib.parse import unquote

from flask import Flask, Response, g, make_response, redirect, request, session, url_for
from flask.globals import request_ctx
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import Forbidden, HTTPException

from grader import db
from grader.models import ApiToken, Login, User
from grader.services.accounts import api_tokens, login_addresses, login_guesses, logins
from grader.storage import disk
from webapp.http import devices
from webapp.http.errors import LoginNeeded, wants_json
from webapp.http.site import Site, current_site

log = logging.getLogger(__name__)
# Asked before anybody has a token, or at an address that is the secret itself.
OPEN_CALLS = frozenset({"kaggle.introspect_token", "kaggle.receive", "kaggle.signed_file"})
TOKEN_BLUEPRINTS = frozenset({"api", "kaggle"})  # asked by programs, with a token and no cookie
View = Callable[..., ResponseReturnValue]


def init_app(app: Flask, site: Site) -> None:
    """Set up the cookies and find the person behind every request."""
    app.config.update(
        SECRET_KEY=site.settings.secret(),
        SESSION_COOKIE_NAME=_cookie_name("fairboard_session", site),
        SESSION_COOKIE_SECURE=site.is_https,
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
    )
    app.before_request(identify)
    app.add_template_global(way_back)


def identify() -> None:
    """Set `g.user` and `g.login` from the login cookie; in the API `g.user` from the bearer token alone.

    `g.asked_at` is the database's time at that moment.
    """
    g.user = g.login = g.token = g.organizer_role = g.asked_at = None
    if request.endpoint in (None, "static", *OPEN_CALLS) or request.blueprint == "health":
        return
    site = current_site()
    is_api = request.blueprint in TOKEN_BLUEPRINTS
    secret = _sent_token() if is_api else request.cookies.get(login_cookie(site))
    if not secret:
        return
    used: ApiToken | Login | None
    with site.database.read() as db_session:
        now = db.now(db_session)
        if is_api:
            used = g.token = api_tokens.find(db_session, token=secret, now=now)
        else:
            used = g.login = logins.find(db_session, token=secret, now=now)
    if used is None:
        return
    g.user, g.asked_at = used.user, now
    if logins.needs_touch(used, now=now):
        _note_use(site, used, now)


def _note_use(site: Site, used: ApiToken | Login, now: datetime) -> None:
    try:
        with site.database.write() as db_session:
            logins.touch(db_session, used=used, now=now)
    except Exception as error:
        if not (disk.is_full(error) or db.is_unavailable(error)):
            raise
        log.warning("Could not store when a login was last used: %s", error)  # boards go on


def login_required(view: View) -> View:
    """Show a page to people who are logged in, and the login page to others."""

    @wraps(view)
    def guarded(*args: Any, **kwargs: Any) -> ResponseReturnValue:
        return ask_to_log_in() if g.user is None else view(*args, **kwargs)

    return guarded


def admin_required(view: View) -> View:
    """Show a page to administrators, the login page to strangers, and a refusal to others."""

    @wraps(view)
    def guarded(*args: Any, **kwargs: Any) -> ResponseReturnValue:
        if g.user is not None and not g.user.is_admin:
            raise Forbidden
        return ask_to_log_in() if g.user is None else view(*args, **kwargs)

    return guarded


def ask_to_log_in() -> ResponseReturnValue:
    """Send a stranger to the login page, and from there back to where they wanted to go."""
    if wants_json():
        raise LoginNeeded
    return redirect(url_for("account.log_in", next=request.full_path.rstrip("?")))


def log_in(user: User, *, target: str | None = None) -> Response:
    """Start a login and return a redirect that carries its cookie; an earlier login of this browser ends."""
    site = current_site()
    lifetime = timedelta(days=site.settings.login_days)
    response = make_response(redirect(target or safe_target(request.values.get("next"))))
    browsers = devices.remember(site, response, user, cookie_name=device_cookie(site))
    with site.database.write() as db_session:
        _end_current_login(db_session)
        token = logins.start(
            db_session,
            user=user,
            user_agent=request.user_agent.string,
            lifetime=lifetime,
            now=db.now(db_session),
        )
        _note_address(db_session, user)
        if site.settings.note_shared_logins:
            login_addresses.note(
                db_session,
                user=user,
                address=request.remote_addr,
                browsers=browsers,
                secret=site.settings.secret(),
                now=db.now(db_session),
            )
    session.clear()
    response.set_cookie(
        login_cookie(site), token, max_age=lifetime, secure=site.is_https, httponly=True, samesite="Lax"
    )
    return response


def know_place(user: User, response: Response) -> Response:
    """Know this device and address as the person's, whose new password was set here; return the response."""
    site = current_site()
    with site.database.write() as db_session:
        _note_address(db_session, user)
    devices.remember(site, response, user, cookie_name=device_cookie(site))
    return response


def log_out(*, everywhere: bool = False) -> Response:
    """End this login, or all of the person's, on the server; return a redirect that takes the cookie away."""
    site = current_site()
    with site.database.write() as db_session:
        _end_current_login(db_session)
        if everywhere:
            logins.end_all(db_session, user=g.user)
    session.clear()
    response = make_response(redirect(url_for("competitions.index")))
    response.delete_cookie(login_cookie(site), secure=site.is_https, httponly=True, samesite="Lax")
    return response


def login_cookie(site: Site) -> str:
    """Return the name of the login cookie."""
    return _cookie_name("fairboard_login", site)


def device_cookie(site: Site) -> str:
    """Return the name of the cookie by which a device is known."""
    return _cookie_name(devices.COOKIE, site)


def safe_target(target: str | None) -> str:
    """Return where to go after a login: `target` if it is an address of this site, else the first page."""
    home = url_for("competitions.index")
    if not target or not _is_local_path(target):
        return home
    adapter = request_ctx.url_adapter
    try:
        adapter.match(target.partition("?")[0], method="GET")  # type: ignore[union-attr]
    except HTTPException:  # unknown here, or known by another spelling
        return home
    return target


def way_back() -> str | None:
    """Return the page to return to after logging in or signing up; None for the first page."""
    if request.blueprint == "account":
        return request.args.get("next")
    if request.method != "GET" or request.endpoint in (None, "competitions.index"):
        return None
    return request.full_path.rstrip("?")


def _is_local_path(target: str) -> bool:
    plain = unquote(target)
    is_printable = plain.isprintable() and target.isascii()
    return is_printable and plain.startswith("/") and not plain.startswith("//") and "\\" not in plain


def _sent_token() -> str | None:
    """Return the API token of a request; old kaggle commands send it as a password."""
    authorization = request.authorization
    if authorization is not None and authorization.type == "basic" and request.blueprint == "kaggle":
        return authorization.password
    return authorization.token if authorization and authorization.type == "bearer" else None


def _note_address(db_session: Any, user: User) -> None:
    login_addresses.note_known_address(
        db_session,
        user=user,
        address_hash=login_guesses.address_hash(
            request.remote_addr, secret=current_site().settings.secret(), user_id=user.id
        ),
        now=db.now(db_session),
    )


def _end_current_login(db_session: Any) -> None:
    if cookie := request.cookies.get(login_cookie(current_site())):
        logins.end(db_session, token=cookie)


def _cookie_name(name: str, site: Site) -> str:
    """Return a cookie's name; under https its prefix makes the browser bind it to this host."""
    return f"__Host-{name}" if site.is_https else name
