"""Who is logged in: login cookie on pages, bearer token in the API; log in, log out, login required.

The cookie holds a random token and the database its sha256: a login ends on the server, and a new one never
reuses an old cookie. Flask's own signed session carries only the form token and messages; it is emptied at
login and logout.
"""

from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any
from urllib.parse import unquote

from flask import Flask, Response, g, make_response, redirect, request, session, url_for
from flask.globals import request_ctx
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import Forbidden, HTTPException

from grader import db
from grader.models import User
from grader.services.accounts import login_addresses, login_guesses, logins
from webapp.http import context, devices
from webapp.http.context import LoginNeeded, cookie_name, login_cookie
from webapp.http.errors import wants_json
from webapp.http.site import Site, current_site

View = Callable[..., ResponseReturnValue]


def init_app(app: Flask, site: Site) -> None:
    """Set up the cookies and find the person behind every request."""
    app.config.update(
        SECRET_KEY=site.settings.secret(),
        SESSION_COOKIE_NAME=cookie_name("fairboard_session", site),
        SESSION_COOKIE_SECURE=site.is_https,
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
    )
    context.init_app(app)
    app.add_template_global(way_back)


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
        if context.is_shell():
            return view(*args, **kwargs)
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


def device_cookie(site: Site) -> str:
    """Return the name of the cookie by which a device is known."""
    return cookie_name(devices.COOKIE, site)


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
