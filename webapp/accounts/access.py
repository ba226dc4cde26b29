"""Pages to log in, log out, sign up, confirm an e-mail address and reset a password."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from flask import abort, flash, g, make_response, redirect, render_template, request, url_for
from flask import session as cookie
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import LinkPurpose
from grader.services.accounts import (
    accounts,
    administrators,
    email_addresses,
    login_guesses,
    logins,
    one_time_links,
    password_resets,
    passwords,
    sign_ups,
)
from grader.services.mail import addresses as mail_addresses
from grader.services.mail import limits
from grader.settings import SignUp
from webapp.accounts import password_guesses
from webapp.accounts.own_account import blueprint
from webapp.http import auth, errors
from webapp.http.context import reading
from webapp.http.site import current_site

MAILING_SECONDS = 0.05  # several times what either takes
WRONG_LOGIN = {"password": "Wrong name or password."}


@blueprint.route("/login", methods=["GET", "POST"])
def log_in() -> ResponseReturnValue:
    """Log a person in."""
    if request.method == "GET":
        if g.user is not None:
            return redirect(auth.safe_target(request.args.get("next")))
        return render_template("accounts/log_in.html", problems={}, name="")
    name, password = _credentials()
    try:
        user = password_guesses.authenticate(name, password)
    except (login_guesses.TooManyGuesses, passwords.TooManyHashes) as error:
        page = render_template("accounts/log_in.html", problems={"password": error.message}, name=name)
        return page, errors.status_of(error), errors.headers_of(error)
    if user is None:
        return render_template("accounts/log_in.html", problems=WRONG_LOGIN, name=name), 422
    return auth.log_in(user)


@blueprint.route("/login/<token>", methods=["GET", "POST"])
def log_in_by_link(token: str) -> ResponseReturnValue:
    """Log in by a one-time link; only the button does it, because mail programs open links automatically."""
    site = current_site()
    if request.method == "GET":
        with reading() as session:
            name = logins.link_holder(session, token=token, now=db.now(session)).name
        return render_template("accounts/log_in_by_link.html", name=name)
    with site.database.write() as session:
        user = logins.link_holder(session, token=token, now=db.now(session), use=True)
    return auth.log_in(user)


@blueprint.post("/logout")
def log_out() -> ResponseReturnValue:
    """End this login."""
    return auth.log_out()


@blueprint.route("/sign-up", methods=["GET", "POST"])
def sign_up() -> ResponseReturnValue:
    """Make an account and log it in; where there is mail, ask for an address first."""
    site = current_site()
    if site.settings.sign_up is SignUp.CLOSED:
        abort(404)
    if site.settings.sign_up is SignUp.INVITE:
        return render_template("accounts/invited_only.html") if request.method == "GET" else abort(404)
    if site.settings.sends_mail():
        return _ask_for_sign_up_mail()
    if request.method == "GET":
        return render_template("accounts/sign_up.html", problems={}, name="")
    name, password = _credentials()
    try:
        with site.passwords.turn(), site.database.write() as session:  # who waits holds no connection
            user = accounts.sign_up(
                session, name=name, password=password, passwords=site.passwords, now=db.now(session)
            )
    except (accounts.InvalidAccount, passwords.TooManyHashes) as error:
        return _not_taken("accounts/sign_up.html", error, name=name)
    return auth.log_in(user)


@blueprint.route("/sign-up/<token>", methods=["GET", "POST"])
def sign_up_by_link(token: str) -> ResponseReturnValue:
    """Make the account of a mailed link or an invitation, and log it in."""
    site = current_site()
    if site.settings.sign_up is SignUp.CLOSED:
        abort(404)
    with reading() as session:
        sign_ups.find(session, token=token, now=db.now(session))
    if request.method == "GET":
        return render_template("accounts/sign_up.html", problems={}, name="")
    name, password = _credentials()
    try:
        with site.passwords.turn(), site.database.write() as session:  # who waits holds no connection
            user = sign_ups.use(
                session,
                token=token,
                name=name,
                password=password,
                passwords=site.passwords,
                now=db.now(session),
            )
    except (accounts.InvalidAccount, passwords.TooManyHashes) as error:
        return _not_taken("accounts/sign_up.html", error, name=name)
    return auth.log_in(user)


@blueprint.route("/setup/<token>", methods=["GET", "POST"])
def set_up(token: str) -> ResponseReturnValue:
    """Make the first administrator by the one-time link that `serve` prints."""
    site = current_site()
    with reading() as session:
        if not administrators.is_setup_open(session, token=token):
            raise administrators.InvalidSetupLink
    if request.method == "GET":
        return render_template("accounts/set_up.html", problems={}, name="")
    name, password = _credentials()
    try:
        with site.passwords.turn(), site.database.write() as session:  # who waits holds no connection
            user = administrators.use_setup_link(
                session,
                token=token,
                name=name,
                password=password,
                passwords=site.passwords,
                now=db.now(session),
            )
    except (accounts.InvalidAccount, passwords.TooManyHashes) as error:
        return _not_taken("accounts/set_up.html", error, name=name)
    return auth.log_in(user)


@blueprint.route("/verify/<token>", methods=["GET", "POST"])
def verify(token: str) -> ResponseReturnValue:
    """Confirm an e-mail address; only the button does it, because mail programs open links automatically."""
    site = current_site()
    if request.method == "GET":
        with reading() as session:
            link = one_time_links.require(
                session, purpose=LinkPurpose.VERIFY_EMAIL, token=token, now=db.now(session)
            )
        return render_template("accounts/verify.html", address=link.email)
    with site.database.write() as session:
        user = email_addresses.verify(session, token=token, now=db.now(session))
    flash(f"{user.email} is confirmed.")
    return redirect(url_for("competitions.index" if g.user is None else "account.show"))


@blueprint.route("/reset", methods=["GET", "POST"])
def ask_for_reset() -> ResponseReturnValue:
    """E-mail a link to set a new password; without a mail server say whom to ask."""
    site = current_site()
    if not site.settings.sends_mail():
        return render_template("accounts/ask_for_reset.html") if request.method == "GET" else abort(404)
    if request.method == "GET":
        return render_template("accounts/ask_for_reset.html", problems={}, email="")
    address = request.form.get("email", "")
    try:
        with _at_its_own_pace(), site.database.write() as session:
            now = db.now(session)
            if site.settings.rate_limits:
                limits.count_for_address(session, address=address, now=now)
            password_resets.ask(session, address=address, now=now)
    except (mail_addresses.InvalidAddress, limits.TooMuchMail) as error:
        return _not_mailed("accounts/ask_for_reset.html", error, address)
    return render_template("accounts/mailed.html", address=address.strip(), again="account.ask_for_reset")


@blueprint.route("/reset/<token>", methods=["GET", "POST"])
def reset(token: str) -> ResponseReturnValue:
    """Set a new password by a link."""
    site = current_site()
    with reading() as session:
        name = password_resets.whose(session, token=token, now=db.now(session)).name
    if request.method == "GET":
        return render_template("accounts/reset.html", problems={}, name=name)
    try:
        password_hash = accounts.hashed(request.form.get("password", ""), name=name, passwords=site.passwords)
    except (accounts.InvalidAccount, passwords.TooManyHashes) as error:
        return _not_taken("accounts/reset.html", error, name=name)
    with site.database.write() as session:
        user = password_resets.use(session, token=token, password_hash=password_hash, now=db.now(session))
    cookie.clear()
    flash("Your new password is set and you have been logged out everywhere. Log in with it now.")
    # Who was locked out by strangers' guesses gets in with the new password from here.
    return auth.know_place(user, make_response(redirect(url_for("account.log_in"))))


def _ask_for_sign_up_mail() -> ResponseReturnValue:
    if request.method == "GET":
        return render_template("accounts/ask_for_sign_up.html", problems={}, email="")
    address = request.form.get("email", "")
    site = current_site()
    try:
        with _at_its_own_pace(), site.database.write() as session:
            now = db.now(session)
            if site.settings.rate_limits:
                limits.count_for_address(session, address=address, now=now)
            then = auth.safe_target(request.args.get("next"))
            sign_ups.ask(session, address=address, then=then, now=now)
    except (mail_addresses.InvalidAddress, limits.TooMuchMail) as error:
        return _not_mailed("accounts/ask_for_sign_up.html", error, address)
    return render_template("accounts/mailed.html", address=address.strip(), again="account.sign_up")


def _not_mailed(
    template: str, error: mail_addresses.InvalidAddress | limits.TooMuchMail, address: str
) -> ResponseReturnValue:
    page = render_template(template, problems={"email": error.message}, email=address)
    status = 422 if isinstance(error, mail_addresses.InvalidAddress) else errors.status_of(error)
    return page, status, errors.headers_of(error)


@contextmanager
def _at_its_own_pace() -> Iterator[None]:
    """Take as long for an address that has an account as for any other."""
    start = time.monotonic()
    try:
        yield
    finally:
        time.sleep(max(0.0, start + MAILING_SECONDS - time.monotonic()))


def _not_taken(
    template: str, error: accounts.InvalidAccount | passwords.TooManyHashes, *, name: str
) -> ResponseReturnValue:
    """Show a form again, the name kept, with what was wrong with it."""
    if isinstance(error, accounts.InvalidAccount):
        return render_template(template, problems=error.problems, name=name), 422
    page = render_template(template, problems={"password": error.message}, name=name)
    return page, errors.status_of(error), errors.headers_of(error)


def _credentials() -> tuple[str, str]:
    return request.form.get("name", ""), request.form.get("password", "")
