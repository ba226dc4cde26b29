"""Pages for second factors: the second step of a login, setup, removal, recovery codes, resets."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from flask import flash, g, redirect, render_template, request, url_for
from flask import session as cookie
from flask.typing import ResponseReturnValue
from markupsafe import Markup
from werkzeug.exceptions import NotFound

from grader import db
from grader.errors import FairboardError
from grader.models import FactorPurpose, FactorStep, SecondFactor, User
from grader.services.accounts import accounts, factor_steps, login_guesses, logins, second_factors
from grader.services.accounts.passkeys import Ceremony
from grader.services.accounts.second_factors import NewApp, Proof
from webapp.accounts.own_account import blueprint, confirmation_problem
from webapp.accounts.people import administrators_operation
from webapp.accounts.people import blueprint as people
from webapp.http import auth, errors
from webapp.http.api import blueprint as api
from webapp.http.auth import PROVIDER, STEP, TARGET
from webapp.http.confirmation import Question, confirm
from webapp.http.context import actor, reading, writing
from webapp.http.site import base_url, current_site, passkey_origin

WRONG = "This code or passkey is wrong or was already used."
EXPIRED = "Too much time has passed. Start again."
Problem = tuple[str, int, dict[str, str]]


@blueprint.route("/login/second-factor", methods=["GET", "POST"])
def second_factor() -> ResponseReturnValue:
    """Ask for the second factor after the password, and start the session."""
    site, token = current_site(), cookie.get(STEP, "")
    problem: Problem | None = None
    if request.method == "POST":
        try:
            with site.database.write() as session:
                step = _login_step(session, token, lock=True)
                if step is not None and (problem := _proof_problem(session, step.user, token)) is None:
                    factor_steps.end(session, step=step)
                    target = auth.safe_target(cookie.get(TARGET))
                    client = site.providers.get(cookie.get(PROVIDER) or "")
                    return auth.start_session(
                        session,
                        step.user,
                        target=target,
                        provider=None if client is None else client.provider,
                        has_proved_factor=True,
                    )
        except login_guesses.TooManyGuesses as error:
            problem = _told(error)
    with reading() as session:
        if (step := _login_step(session, token)) is None:
            if g.user is None and STEP in cookie:
                flash(EXPIRED)
            return redirect(auth.safe_target(None) if g.user else url_for(".log_in", next=cookie.get(TARGET)))
        own = second_factors.list_own(session, user=step.user)
    message, status, headers = problem or (None, 200, {})
    page = render_template(
        "accounts/second_factor.html", problem=message, passkey=_request_options(token, own)
    )
    return page, status, headers


@blueprint.get("/account/second-factors", endpoint="second_factors")
@auth.login_required
def show() -> ResponseReturnValue:
    """Show the second factors; changes require the password and, if there is one, a second factor."""
    return _page()


@blueprint.post("/account/second-factors/unlock", endpoint="unlock_factors")
@auth.login_required
def unlock() -> ResponseReturnValue:
    """Allow changes for some minutes after checking the password and then the second factor."""
    token, problem = cookie.get(STEP, ""), None
    with reading() as session:
        step = _change_step(session, token)
    try:
        if step is None:
            if _proof() != Proof():
                return _back(EXPIRED)
            if problem := confirmation_problem():
                return _page(problem, fault="password")
            with writing() as session:
                is_confirmed = not logins.has_factor(session, user=g.user)
                purpose, now = FactorPurpose.CHANGE, db.now(session)
                cookie[STEP] = factor_steps.begin(
                    session, user=g.user, purpose=purpose, is_confirmed=is_confirmed, now=now
                )
        elif not step.is_confirmed:
            with writing() as session:
                step = _change_step(session, token, lock=True)
                if step is not None and (problem := _proof_problem(session, g.user, token)) is None:
                    cookie[STEP] = factor_steps.renew(session, step=step, now=db.now(session))
    except login_guesses.TooManyGuesses as error:
        problem = _told(error)
    return _page(problem, fault="factor") if problem else _back()


@blueprint.post("/account/second-factors", endpoint="add_factor")
@auth.login_required
def add() -> ResponseReturnValue:
    """Add an authenticator app or a passkey; the first one also creates recovery codes."""
    token, codes = cookie.get(STEP, ""), None
    try:
        with writing() as session:
            if (step := _confirmed(session, token)) is None:
                return _back(EXPIRED)
            now, is_first = db.now(session), not logins.has_factor(session, user=g.user)
            added = second_factors.add(
                session,
                user=g.user,
                name=request.form.get("name", ""),
                proof=_proof(),
                app=_new_app(token),
                ceremony=_ceremony(token),
                keep=g.login,
                now=now,
            )
            cookie[STEP] = factor_steps.renew(session, step=step, now=now)
            if is_first:
                codes = second_factors.new_recovery_codes(session, user=g.user, now=now)
    except second_factors.InvalidFactor as error:
        return _page(_told(error), fault="passkey" if _proof().passkey else "app")
    return _page(codes=codes) if codes else _back(f"{added.name} added.")


@blueprint.post("/account/second-factors/<int:factor_id>/remove", endpoint="remove_factor")
@auth.login_required
def remove(factor_id: int) -> ResponseReturnValue:
    """Remove one of the user's second factors."""
    with writing() as session:
        if _confirmed(session, cookie.get(STEP, "")) is None:
            return _back(EXPIRED)
        found = second_factors.remove(
            session, user=g.user, factor_id=factor_id, actor=actor(), now=db.now(session)
        )
        is_last = not logins.has_factor(session, user=g.user)
        last = "Your account will have no second factor, and your recovery codes will be deleted."
        confirm(
            Question(
                heading=f"Remove {found.name}?",
                sentences=(last if is_last else "You will no longer be able to log in with it.",),
                button="Remove",
                back=url_for(".second_factors"),
                is_final=True,
            )
        )
    return _back(f"{found.name} removed.")


@blueprint.post("/account/second-factors/recovery-codes")
@auth.login_required
def new_recovery_codes() -> ResponseReturnValue:
    """Replace the recovery codes and show the new ones once."""
    with writing() as session:
        is_confirmed = _confirmed(session, cookie.get(STEP, "")) is not None
        if not is_confirmed or not logins.has_factor(session, user=g.user):
            return _back(EXPIRED)
        codes = second_factors.new_recovery_codes(session, user=g.user, now=db.now(session))
    return _page(codes=codes)


@people.post("/<int:user_id>/reset-second-factors", endpoint="reset_second_factors")
@auth.admin_required
def reset_on_page(user_id: int) -> ResponseReturnValue:
    """Remove the second factors of a user who cannot log in."""
    name = _reset(user_id, is_page=True)
    flash(f"{name} can now log in without a second factor, and all sessions of the account have ended.")
    return redirect(url_for("people.index"))


@api.post("/people/<int:user_id>/reset-second-factors")
@administrators_operation(status=204)
def reset_second_factors(user_id: int) -> Any:
    """Remove all second factors and sessions of a user who cannot log in."""
    _reset(user_id)
    return "", 204


def _reset(user_id: int, *, is_page: bool = False) -> str:
    with writing() as session:
        person = accounts.find(session, user_id=user_id)
        if person is None:
            raise NotFound
        second_factors.reset(session, user=person, actor=actor(), now=db.now(session))
        if is_page:
            confirm(
                Question(
                    heading=f"Reset the second factors of {person.name}?",
                    sentences=(
                        "Do this only if you are sure that the request comes from this person.",
                        "The password alone will be sufficient for the next login.",
                    ),
                    button="Reset second factors",
                    back=url_for("people.index"),
                    is_final=True,
                )
            )
    return person.name


def _login_step(session: Any, token: str, *, lock: bool = False) -> FactorStep | None:
    purpose, now = FactorPurpose.LOG_IN, db.now(session)
    return factor_steps.find(session, token=token, purpose=purpose, now=now, lock=lock)


def _change_step(session: Any, token: str, *, lock: bool = False) -> FactorStep | None:
    purpose, now = FactorPurpose.CHANGE, db.now(session)
    step = factor_steps.find(session, token=token, purpose=purpose, now=now, lock=lock)
    return step if step is not None and step.user_id == g.user.id else None


def _confirmed(session: Any, token: str) -> FactorStep | None:
    """Lock and return the step that allows changes, or None if the user must confirm first."""
    step = _change_step(session, token, lock=True)
    return step if step is not None and step.is_confirmed else None


def _proof() -> Proof:
    return Proof(code=request.form.get("code", ""), passkey=request.form.get("passkey", ""))


def _proof_problem(session: Any, user: User, token: str) -> Problem | None:
    """Return the problem of a wrong second factor, which is counted; None for a right one.

    Raises TooManyGuesses. Passkeys cannot be guessed and are not counted.
    """
    site, proof, now = current_site(), _proof(), db.now(session)
    secret, counted = site.settings.secret(), tuple[int, ...]()
    if site.settings.rate_limits and not proof.passkey:
        guesser = login_guesses.Guesser(
            account=login_guesses.account_hash(user.name, secret=secret),
            address=login_guesses.address_hash(request.remote_addr, secret=secret),
            device=auth.number_of(site, user, cookie_name=auth.device_cookie(site)),
            is_second_step=True,
        )
        counted = login_guesses.begin(session, guesser=guesser, now=now)
    if not second_factors.verify(
        session, user=user, proof=proof, ceremony=_ceremony(token), key=secret, now=now
    ):
        return WRONG, 422, {}
    login_guesses.take_back(session, counted=counted)
    return None


def _ceremony(token: str) -> Ceremony | None:
    """Return the site and the challenge of a step; None if browsers do not support passkeys here."""
    if (origin := passkey_origin()) is None:
        return None
    key = factor_steps.key_of(token, secret=current_site().settings.secret(), use="challenge")
    return Ceremony(origin, urlsplit(origin).hostname or "", key)


def _request_options(token: str, own: Sequence[SecondFactor]) -> dict[str, Any] | None:
    ceremony = _ceremony(token)
    return ceremony.request_options(own) if ceremony is not None else None


def _new_app(token: str) -> NewApp:
    """Return the app that a step offers; the same one until the step is renewed."""
    secret = current_site().settings.secret()
    key_id = factor_steps.key_of(token, secret=secret, use="app").hex()
    return NewApp.of(g.user, key_id=key_id, key=secret)


def _qr_code(uri: str) -> Markup:
    import segno  # A top-level import would slow down the start of every web process.

    code = segno.make(uri).svg_inline(scale=4, light="#fff", svgclass="qr", lineclass=None, omitsize=True)
    return Markup(code)  # noqa: S704 - the SVG contains only paths


def _told(error: FairboardError) -> Problem:
    return error.message, errors.status_of(error), errors.headers_of(error)


def _back(message: str = "") -> ResponseReturnValue:
    if message:
        flash(message)
    return redirect(url_for(".second_factors", next=request.args.get("next")))


def _page(
    problem: Problem | None = None, *, fault: str = "", codes: Sequence[str] | None = None
) -> ResponseReturnValue:
    token = cookie.get(STEP, "")
    with reading() as session:
        step = _change_step(session, token)
        own = second_factors.list_own(session, user=g.user)
        left = second_factors.recovery_codes_left(session, user=g.user)
        required = current_site().settings.require_second_factor
        is_missing = second_factors.is_missing(session, user=g.user, required=required)
    message, status, headers = problem or (None, 201 if codes else 200, {})
    is_open, ceremony, shown = step is not None and step.is_confirmed, _ceremony(token), dict[str, Any]()
    if is_open:
        app = _new_app(token)
        shown = {
            "secret": " ".join(app.secret[place : place + 4] for place in range(0, len(app.secret), 4)),
            "qr_code": _qr_code(app.uri(g.user, site=f"Fairboard ({urlsplit(base_url()).hostname})")),
            "creation": ceremony.creation_options(g.user, own) if ceremony else None,
        }
    page = render_template(
        "accounts/second_factors.html",
        state="open" if is_open else "factor" if step else "password",
        factors=own,
        codes=codes,
        codes_left=left,
        is_missing=is_missing,
        problems={fault: message} if message else {},
        passkey=_request_options(token, own) if step and not is_open else None,
        target=auth.safe_target(request.args.get("next")) if request.args.get("next") else None,
        base_url=base_url(),
        **shown,
    )
    return page, status, headers
