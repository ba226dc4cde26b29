"""Account page: profile, e-mail, password, API tokens, sessions, account deletion."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from flask import Blueprint, flash, g, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.errors import Refusal
from grader.services.competitions.lookup import UnknownCompetition
from grader.services.identity import (
    accounts,
    api_tokens,
    email_addresses,
    identities,
    logins,
    passwords,
    second_factors,
)
from grader.services.identity.api_tokens import USUAL_SCOPES, Scope
from grader.services.identity.names import get_user
from grader.services.site import mail_addresses
from grader.services.site import mail_limits as limits
from grader.services.site.outbox import Notice
from webapp.http import auth, errors
from webapp.http.confirmation import Question, confirm
from webapp.http.context import competition_of, reading, writing
from webapp.http.site import current_site
from webapp.identity import password_guesses

# The order matters: browsers also mention other browsers, and Android also mentions Linux.
_BROWSERS = {
    "Edg(e|A|iOS)?/": "Edge",
    "OPR/|Opera": "Opera",
    "Firefox/|FxiOS/": "Firefox",
    "Chrom(e|ium)/|CriOS/": "Chrome",
    "Safari/": "Safari",
    "curl/": "curl",
    "python": "Python",
}
_SYSTEMS = {
    "Android": "Android",
    "iPhone|iPad": "iOS",
    "Windows": "Windows",
    "Mac OS X|Macintosh": "macOS",
    "CrOS": "ChromeOS",
    "Linux|X11": "Linux",
}
LIFETIMES: dict[str, int | None] = {"7": 7, "30": 30, "90": 90, "365": 365, "never": None}
SCOPES = {
    "both": USUAL_SCOPES,
    "read": (Scope.READ,),
    "submit": (Scope.SUBMIT,),
    "organize": (*USUAL_SCOPES, Scope.ORGANIZE),
    "all": tuple(Scope),
}
NOTICES = {
    Notice.SCORED: "Results of my team's submissions",
    Notice.TEAM: "Invitations, merge requests and changes to my team",
    Notice.RESULTS: "Results of competitions",
    Notice.ORGANIZER: "Messages from organizers and their decisions about me",
}
blueprint = Blueprint("account", __name__)
WRONG_PASSWORD = "Wrong password."  # noqa: S105
RECENT = timedelta(minutes=10)
LOG_IN_AGAIN = (
    "Your account does not use a password. Log out, log in again, and repeat this within "
    f"{RECENT.seconds // 60} minutes."
)


def browser_name(user_agent: str) -> str:
    """Return the browser's name and system from its user agent, such as `Firefox on Linux`."""
    browser, system = _first(_BROWSERS, user_agent), _first(_SYSTEMS, user_agent)
    return " on ".join(name for name in (browser or "A browser", system) if name)


def _first(names: dict[str, str], text: str) -> str | None:
    return next((name for pattern, name in names.items() if re.search(pattern, text)), None)


@blueprint.get("/account")
@auth.login_required
def show() -> ResponseReturnValue:
    """Show the account with its settings."""
    return own_page()


@blueprint.post("/account/email")
@auth.login_required
def change_email() -> ResponseReturnValue:
    """Change the e-mail address, after confirmation if the site sends e-mails."""
    address = request.form.get("email", "").strip()
    site = current_site()
    if problem := confirmation_problem():
        message, status, headers = problem
        return own_page(problems={"email_password": message}, email=address), status, headers
    is_confirmed_later = bool(address) and site.settings.sends_mail()
    try:
        with writing() as session:
            now = db.now(session)
            if is_confirmed_later and site.settings.rate_limits:
                limits.count_for_address(session, address=address, now=now)
            if is_confirmed_later:
                email_addresses.ask_to_verify(session, user=g.user, address=address, now=now)
            else:
                email_addresses.note(session, user=g.user, address=address)
    except (mail_addresses.InvalidAddress, limits.TooMuchMail) as error:
        status = 422 if isinstance(error, mail_addresses.InvalidAddress) else errors.status_of(error)
        return own_page(problems={"email": error.message}, email=address), status, errors.headers_of(error)
    if is_confirmed_later:
        return saved(f"We sent a link to {address}. Open it to confirm the address.")
    return saved("E-mail address saved." if address else "E-mail address removed.")


@blueprint.post("/account/notices")
@auth.login_required
def choose_notices() -> ResponseReturnValue:
    """Choose which e-mails to receive."""
    with writing() as session:
        accounts.choose_notices(session, user=g.user, wanted=request.form.getlist("notice"))
    return saved("E-mail settings saved.")


@blueprint.post("/account/password")
@auth.login_required
def change_password() -> ResponseReturnValue:
    """Set a new password, and end the user's other sessions."""
    site = current_site()
    identities.require_may_use_password(g.user, site.settings)
    if problem := confirmation_problem():
        message, status, headers = problem
        return own_page(problems={"old_password": message}), status, headers
    try:
        with site.passwords.turn(is_known=True):
            password_hash = accounts.hashed(
                request.form.get("new_password", ""), name=g.user.name, passwords=site.passwords
            )
    except accounts.InvalidAccount as error:
        return own_page(problems={"new_password": error.by_field["password"]}), 422
    with writing() as session:
        passwords.set_password(session, user=g.user, password_hash=password_hash, keep=g.login)
        changed = get_user(session, name=g.user.name)
    return auth.know_device(
        make_response(saved("Password changed. Your other sessions have ended.")), changed
    )


@blueprint.post("/account/tokens")
@auth.login_required
def create_token() -> ResponseReturnValue:
    """Create an API token and show it once, in this response."""
    days = LIFETIMES.get(request.form.get("lifetime", "90"), 90)
    scopes = SCOPES.get(request.form.get("scope", ""), api_tokens.USUAL_SCOPES)
    name, slug = request.form.get("token_name", ""), request.form.get("competition", "").strip()
    try:
        with writing() as session:
            token, text = api_tokens.create(
                session,
                user=g.user,
                name=name,
                scopes=scopes,
                lifetime=None if days is None else timedelta(days=days),
                competition=competition_of(session, slug) if slug else None,
                now=db.now(session),
            )
    except (UnknownCompetition, Refusal) as error:
        return own_page(problems={"token": error.message}, entered=request.form), errors.status_of(error)
    return own_page(new_token=text, new_token_name=token.name), 201


@blueprint.post("/account/tokens/<int:token_id>/revoke")
@auth.login_required
def revoke_token(token_id: int) -> ResponseReturnValue:
    """Revoke an API token."""
    with writing() as session:
        token = api_tokens.revoke(session, user=g.user, token_id=token_id, now=db.now(session))
        confirm(
            Question(
                heading=f"Revoke the token {token.name}?",
                sentences=("Programs that use it will lose access.",),
                button="Revoke token",
                back=url_for(".show"),
                is_final=True,
            )
        )
    return saved("Token revoked.")


@blueprint.post("/account/logins/<int:login_id>/end")
@auth.login_required
def end_login(login_id: int) -> ResponseReturnValue:
    """End one of the user's sessions."""
    if login_id == g.login.id:
        return auth.log_out()
    with writing() as session:
        logins.end_own(session, user=g.user, login_id=login_id)
    return saved("Session ended.")


@blueprint.post("/account/logins/end")
@auth.login_required
def log_out_everywhere() -> ResponseReturnValue:
    """End all of the user's sessions."""
    return auth.log_out(everywhere=True)


@blueprint.route("/account/delete", methods=["GET", "POST"])
@auth.login_required
def delete() -> ResponseReturnValue:
    """Delete and anonymize the account after checking the password."""
    if request.method == "GET":
        return render_template("identity/delete.html", problems={})
    if problem := confirmation_problem():
        message, status, headers = problem
        page = render_template("identity/delete.html", problems={"current_password": message})
        return page, status, headers
    with writing() as session:
        secret = current_site().settings.secret()
        accounts.delete_account(session, user=g.user, secret=secret, now=db.now(session))
    gone = auth.log_out()  # Deleting the account ended the other sessions.
    flash("Account deleted.")
    return gone


def confirmation_problem() -> tuple[str, int, dict[str, str]] | None:
    """Return the message, status and headers unless the user has just confirmed the account; otherwise None.

    Users without a password confirm it by a recent login.
    """
    if not identities.has_password(g.user, current_site().settings):
        is_recent = g.asked_at - g.login.created_at <= RECENT
        return None if is_recent else (LOG_IN_AGAIN, 422, {})
    try:
        is_right = password_guesses.own_password_is_right(request.form.get("current_password", ""))
    except Refusal as error:
        return error.message, errors.status_of(error), errors.headers_of(error)
    return None if is_right else (WRONG_PASSWORD, 422, {})


def saved(message: str) -> ResponseReturnValue:
    """Redirect to the account page with a message."""
    flash(message)
    return redirect(url_for("account.show"))


def own_page(*, problems: Mapping[str, str] | None = None, **shown: Any) -> str:
    """Return the account page with problems by field."""
    with reading() as session:
        now = db.now(session)
        own_tokens = api_tokens.list_own(session, user=g.user)
        own_logins = logins.list_own(session, user=g.user, now=now)
        own_identities = identities.own(session, user=g.user)
        factor_count = len(second_factors.list_own(session, user=g.user))
    defaults: dict[str, Any] = {
        "new_token": None,
        "new_token_name": "",
        "entered": {},
        "email": g.user.email or "",
    }
    return render_template(
        "identity/show.html",
        problems=problems or {},
        tokens=own_tokens,
        logins=own_logins,
        identities=own_identities,
        factor_count=factor_count,
        now=now,
        browser_name=browser_name,
        notices=NOTICES,
        **(defaults | shown),
    )
