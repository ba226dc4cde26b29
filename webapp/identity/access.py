"""Pages for login, logout, sign-up, e-mail verification and password resets."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from flask import abort, flash, g, make_response, redirect, render_template, request, url_for
from flask import session as cookie
from flask.typing import ResponseReturnValue

from grader import db
from grader.errors import FairboardError, ParticipantError, Refusal
from grader.identity_providers import SignUp
from grader.models import CompetitionState, LinkPurpose, User
from grader.services.identity import (
    accounts,
    administrators,
    class_rosters,
    email_addresses,
    identities,
    one_time_links,
    passwords,
)
from grader.services.site import mail_limits as limits
from webapp.http import auth, errors
from webapp.http.context import reading, require_login
from webapp.http.site import current_site
from webapp.identity import password_guesses
from webapp.identity.own_account import blueprint

# Several times longer than the work takes, whether or not the address has an account.
MAILING_SECONDS = 0.05


@blueprint.route("/login", methods=["GET", "POST"])
def log_in() -> ResponseReturnValue:
    """Log a user in."""
    if request.method == "GET":
        if g.user is not None:
            return redirect(auth.safe_target(request.args.get("next")))
        return render_template("identity/log_in.html", problems={}, name="")
    name, password = _credentials()
    try:
        user = password_guesses.authenticate(name, password)
    except Refusal as error:
        return refused("identity/log_in.html", error, name=name)
    with current_site().database.write() as session:
        return auth.log_in(session, user)


@blueprint.route("/login/<token>", methods=["GET", "POST"])
def log_in_by_link(token: str) -> ResponseReturnValue:
    """Log in with a one-time link. The page has a confirmation button, because mail programs open links."""
    if request.method == "GET":
        with reading() as session:
            name = one_time_links.holder(
                session, purpose=LinkPurpose.LOG_IN, token=token, now=db.now(session)
            ).name
        return render_template("identity/log_in_by_link.html", name=name)
    with current_site().database.write() as session:
        now, purpose = db.now(session), LinkPurpose.LOG_IN
        user = one_time_links.holder(session, purpose=purpose, token=token, now=now, use=True)
        return auth.log_in(session, user)


@blueprint.post("/logout")
def log_out() -> ResponseReturnValue:
    """End the current session."""
    return auth.log_out()


@blueprint.route("/sign-up", methods=["GET", "POST"])
def sign_up() -> ResponseReturnValue:
    """Create an account and log the user in; a site that sends e-mail verifies the address first."""
    settings = current_site().settings
    if settings.sign_up is SignUp.CLOSED:
        abort(404)
    if settings.sign_up is SignUp.INVITE:
        return render_template("identity/invited_only.html") if request.method == "GET" else abort(404)
    if not settings.password_login:
        return redirect(url_for("account.log_in", next=request.args.get("next")))
    if settings.sends_mail():
        return _mail_link("identity/ask_for_sign_up.html", LinkPurpose.SIGN_UP)
    return _create_account("identity/sign_up.html", accounts.sign_up, invitation=None, with_password=True)


@blueprint.route("/sign-up/<token>", methods=["GET", "POST"])
def sign_up_by_link(token: str) -> ResponseReturnValue:
    """Create the account for an e-mailed link or an invitation, and log the user in."""
    settings = current_site().settings
    with_password = settings.password_login and settings.sign_up is not SignUp.CLOSED
    policies = {each.accounts or settings.sign_up for each in settings.providers()}
    if not with_password and (request.method == "POST" or not policies - {SignUp.CLOSED}):
        abort(404)
    with reading() as session:
        one_time_links.require(session, purpose=LinkPurpose.SIGN_UP, token=token, now=db.now(session))
    create = partial(accounts.sign_up_by_link, token=token, secret=settings.secret())
    return _create_account("identity/sign_up.html", create, invitation=token, with_password=with_password)


@blueprint.route("/class/<token>", methods=["GET", "POST"])
def join_class(token: str) -> ResponseReturnValue:
    """Show an invitation of a student, or link the student to the user's account."""
    site = current_site()
    if request.method == "POST":
        require_login()
        with site.database.write() as session:
            secret, now = site.settings.secret(), db.now(session)
            joined = class_rosters.claim(session, token=token, user=g.user, secret=secret, now=now)
        if joined.state is CompetitionState.DRAFT:
            flash(f"You are on the roster. You can join {joined.full_title} when it is published.")
            return redirect(url_for("competitions.index"), 303)
        return redirect(url_for("entry.show", slug=joined.slug), 303)
    with reading() as session:
        entry, competition, link = class_rosters.find(session, token=token, now=db.now(session))
    return render_template(
        "identity/join_class.html",
        student=entry.name,
        title=competition.full_title,
        token=token,
        may_sign_up=link.used_at is None and site.settings.sign_up is not SignUp.CLOSED,
    )


@blueprint.route("/setup/<token>", methods=["GET", "POST"])
def set_up(token: str) -> ResponseReturnValue:
    """Create the first administrator with the one-time link that `serve` prints."""
    with reading() as session:
        administrators.require_setup_link(session, token=token, now=db.now(session))
    return _create_account("identity/set_up.html", partial(administrators.use_setup_link, token=token))


@blueprint.route("/verify/<token>", methods=["GET", "POST"])
def verify(token: str) -> ResponseReturnValue:
    """Confirm an e-mail address. The page has a confirmation button, because mail programs open links."""
    if request.method == "GET":
        with reading() as session:
            purpose, now = LinkPurpose.VERIFY_EMAIL, db.now(session)
            link = one_time_links.require(session, purpose=purpose, token=token, now=now)
        return render_template("identity/verify.html", address=link.email)
    with current_site().database.write() as session:
        secret, now = current_site().settings.secret(), db.now(session)
        user = email_addresses.verify(session, token=token, secret=secret, now=now)
    flash(f"The e-mail address {user.email} is confirmed.")
    return redirect(url_for("competitions.index" if g.user is None else "account.show"))


@blueprint.route("/reset", methods=["GET", "POST"])
def ask_for_reset() -> ResponseReturnValue:
    """E-mail a password reset link; without a mail server, show the contact instead."""
    settings = current_site().settings
    if not settings.password_login:
        abort(404)
    if not settings.sends_mail():
        return render_template("identity/ask_for_reset.html") if request.method == "GET" else abort(404)
    return _mail_link("identity/ask_for_reset.html", LinkPurpose.RESET_PASSWORD)


@blueprint.route("/reset/<token>", methods=["GET", "POST"])
def reset(token: str) -> ResponseReturnValue:
    """Set a new password with a reset link."""
    site, template = current_site(), "identity/reset.html"
    with reading() as session:
        person = one_time_links.holder(
            session, purpose=LinkPurpose.RESET_PASSWORD, token=token, now=db.now(session)
        )
    identities.require_may_use_password(person, site.settings)
    name = person.name
    if request.method == "GET":
        return render_template(template, problems={}, name=name)
    try:
        with site.passwords.turn():
            password = request.form.get("password", "")
            password_hash = accounts.hashed(password, name=name, passwords=site.passwords)
    except Refusal as error:
        return refused(template, error, name=name)
    with site.database.write() as session:
        user = passwords.reset(session, token=token, password_hash=password_hash, now=db.now(session))
    cookie.clear()
    flash("Your new password is set, and all your sessions have ended. Log in with the new password.")
    # Users who were locked out by other people's guesses can log in from this device and address.
    return auth.know_device(make_response(redirect(url_for("account.log_in", next=auth.way_back()))), user)


def _create_account(template: str, create: Callable[..., User], **shown: Any) -> ResponseReturnValue:
    """Show the sign-up form, or create the account and log it in."""
    if request.method == "GET":
        return render_template(template, problems={}, name="", **shown)
    site, (name, password) = current_site(), _credentials()
    try:
        # Wait for a hashing slot before opening a database connection.
        with site.passwords.turn(), site.database.write() as session:
            now = db.now(session)
            user = create(session, name=name, password=password, passwords=site.passwords, now=now)
            return auth.log_in(session, user)
    except Refusal as error:
        return refused(template, error, name=name, **shown)


def _mail_link(template: str, purpose: LinkPurpose) -> ResponseReturnValue:
    """Show the form that asks for an e-mail address, or send a link."""
    if request.method == "GET":
        return render_template(template, problems={}, email="")
    site, address = current_site(), request.form.get("email", "")
    try:
        with _constant_time(), site.database.write() as session:
            now = db.now(session)
            if site.settings.rate_limits:
                limits.count_for_address(session, address=address, purpose=purpose, now=now)
            then = auth.safe_target(request.args.get("next"))
            one_time_links.ask(session, purpose=purpose, address=address, then=then, now=now)
    except ParticipantError as error:
        return refused(template, error, field="email", email=address)
    return render_template("identity/mailed.html", address=address.strip(), again=request.endpoint)


@contextmanager
def _constant_time() -> Iterator[None]:
    """Make the block take equally long whether or not the address has an account."""
    start = time.monotonic()
    try:
        yield
    finally:
        time.sleep(max(0.0, start + MAILING_SECONDS - time.monotonic()))


def refused(
    template: str, error: FairboardError, *, field: str = "password", **shown: Any
) -> ResponseReturnValue:
    """Show a form again with the entered values and the problems."""
    problems = getattr(error, "by_field", {field: error.message})
    page = render_template(template, problems=problems, **shown)
    return page, errors.status_of(error), errors.headers_of(error)


def _credentials() -> tuple[str, str]:
    return request.form.get("name", ""), request.form.get("password", "")
