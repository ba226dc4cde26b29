"""Signing up, logging in and out, and the account page with its API tokens."""

from collections.abc import Mapping

from flask import Blueprint, abort, flash, g, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.services import accounts
from webapp import auth
from webapp.site import current_site

blueprint = Blueprint("account", __name__)
WRONG_LOGIN = {"password": "This name and this password do not belong together."}


@blueprint.route("/login", methods=["GET", "POST"])
def log_in() -> ResponseReturnValue:
    """Log a person in."""
    if request.method == "GET":
        if g.user is not None:
            return redirect(auth.safe_target(request.args.get("next")))
        return render_template("account/log_in.html", problems={}, name="")
    site = current_site()
    name, password = _credentials()
    with site.database.read() as session:
        user = accounts.authenticate(session, name=name, password=password, passwords=site.passwords)
    if user is None:
        return render_template("account/log_in.html", problems=WRONG_LOGIN, name=name), 422
    return auth.log_in(user)


@blueprint.route("/sign-up", methods=["GET", "POST"])
def sign_up() -> ResponseReturnValue:
    """Make an account and log it in."""
    site = current_site()
    if not site.settings.sign_up:
        abort(404)
    if request.method == "GET":
        return render_template("account/sign_up.html", problems={}, name="")
    name, password = _credentials()
    try:
        with site.database.write() as session:
            user = accounts.sign_up(
                session, name=name, password=password, passwords=site.passwords, now=db.now(session)
            )
    except accounts.InvalidAccount as error:
        return render_template("account/sign_up.html", problems=error.problems, name=name), 422
    return auth.log_in(user)


@blueprint.route("/setup/<token>", methods=["GET", "POST"])
def set_up(token: str) -> ResponseReturnValue:
    """Make the first administrator by the one-time link that `serve` prints."""
    site = current_site()
    if request.method == "GET":
        with site.database.read() as session:
            if not accounts.is_setup_link(session, token=token):
                raise accounts.InvalidSetupLink
        return render_template("account/set_up.html", problems={}, name="")
    name, password = _credentials()
    try:
        with site.database.write() as session:
            user = accounts.use_setup_link(
                session,
                token=token,
                name=name,
                password=password,
                passwords=site.passwords,
                now=db.now(session),
            )
    except accounts.InvalidAccount as error:
        return render_template("account/set_up.html", problems=error.problems, name=name), 422
    return auth.log_in(user)


@blueprint.post("/logout")
def log_out() -> ResponseReturnValue:
    """End this login."""
    return auth.log_out()


@blueprint.get("/account")
@auth.login_required
def show() -> ResponseReturnValue:
    """Show the account with its API tokens."""
    return _account_page()


@blueprint.post("/account/tokens")
@auth.login_required
def create_token() -> ResponseReturnValue:
    """Make an API token and show it once: the answer itself holds it, and no address ever does."""
    with current_site().database.write() as session:
        token, text = accounts.create_token(
            session, user=g.user, name=request.form.get("token_name", ""), now=db.now(session)
        )
    return _account_page(new_token=text, new_token_name=token.name), 201


@blueprint.post("/account/tokens/<int:token_id>/revoke")
@auth.login_required
def revoke_token(token_id: int) -> ResponseReturnValue:
    """Make an API token useless."""
    with current_site().database.write() as session:
        accounts.revoke_token(session, user=g.user, token_id=token_id, now=db.now(session))
    flash("The token is revoked.")
    return redirect(url_for("account.show"))


@blueprint.post("/account/password")
@auth.login_required
def change_password() -> ResponseReturnValue:
    """Change the password; all other logins of the person end."""
    site = current_site()
    current, new = request.form.get("current_password", ""), request.form.get("new_password", "")
    with site.database.read() as session:
        user = accounts.authenticate(session, name=g.user.name, password=current, passwords=site.passwords)
    if user is None:
        return _account_page(problems={"current_password": "This is not your password."}), 422
    try:
        with site.database.write() as session:
            accounts.change_password(session, user=user, password=new, passwords=site.passwords)
    except accounts.InvalidAccount as error:
        return _account_page(problems={"new_password": error.message}), 422
    response = auth.log_in(user, target=url_for("account.show"))
    flash("The password is changed.")
    return response


@blueprint.post("/account/logins/end")
@auth.login_required
def log_out_everywhere() -> ResponseReturnValue:
    """End all logins of the person."""
    return auth.log_out(everywhere=True)


def _account_page(
    *, new_token: str | None = None, new_token_name: str = "", problems: Mapping[str, str] | None = None
) -> str:
    with current_site().database.read() as session:
        tokens = accounts.list_tokens(session, user=g.user)
    return render_template(
        "account/show.html",
        tokens=tokens,
        new_token=new_token,
        new_token_name=new_token_name,
        problems=problems or {},
    )


def _credentials() -> tuple[str, str]:
    return request.form.get("name", ""), request.form.get("password", "")
