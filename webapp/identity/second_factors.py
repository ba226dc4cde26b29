"""Pages for second factors: the second step of a login, setup, removal, recovery codes, resets."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from flask import flash, g, redirect, render_template, request, url_for
from flask import session as cookie
from flask.typing import ResponseReturnValue
from markupsafe import Markup

from grader import db
from grader.errors import FairboardError, Refusal
from grader.models import FactorPurpose, FactorStep, SecondFactor, User
from grader.services.identity import login_guesses, logins, second_factors
from grader.services.identity.second_factors import NewApp, Proof
from webapp.http import auth, errors
from webapp.http.auth import PROVIDER, STEP, TARGET
from webapp.http.confirmation import Question, confirm
from webapp.http.context import actor, reading, writing
from webapp.http.site import base_url, current_site, passkey_origin
from webapp.identity.own_account import blueprint, confirmation_problem

if TYPE_CHECKING:
    from grader.services.identity.passkeys import Ceremony

WRONG = "This code or passkey is wrong or was already used."
EXPIRED = "Too much time has passed. Start again."
Problem = tuple[str, int, dict[str, str]]


@blueprint.route("/login/second-factor", methods=["GET", "POST"])
def second_factor() -> ResponseReturnValue:
    """Ask for the second factor after the password, and start the session."""
    site, problem = current_site(), None
    if request.method == "POST":
        try:
            with site.database.write() as session:
                step = _step(session, FactorPurpose.LOG_IN, lock=True)
                if step is not None and (problem := _proof_problem(session, step.user)) is None:
                    second_factors.end(session, step=step)
                    slug, target = cookie.get(PROVIDER), auth.safe_target(cookie.get(TARGET))
                    provider = site.providers[slug].provider if slug else None
                    return auth.start_session(
                        session, step.user, target=target, provider=provider, has_proved_factor=True
                    )
        except Refusal as error:
            problem = _told(error)
    with reading() as session:
        if (step := _step(session, FactorPurpose.LOG_IN)) is None:
            if g.user is None and STEP in cookie:
                flash(EXPIRED)
            return redirect(auth.safe_target(None) if g.user else url_for(".log_in", next=cookie.get(TARGET)))
        own = second_factors.list_own(session, user=step.user)
    message, status, headers = problem or (None, 200, {})
    page = render_template("identity/second_factor.html", problem=message, passkey=_request_options(own))
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
    problem = None
    with reading() as session:
        step = _step(session, FactorPurpose.CHANGE)
    try:
        if step is None:
            if _proof() != Proof():
                return _back(EXPIRED)
            if problem := confirmation_problem():
                return _page(problem, fault="password")
            with writing() as session:
                is_confirmed = not logins.has_factor(session, user=g.user)
                purpose, now = FactorPurpose.CHANGE, db.now(session)
                cookie[STEP] = second_factors.begin(
                    session, user=g.user, purpose=purpose, is_confirmed=is_confirmed, now=now
                )
        elif not step.is_confirmed:
            with writing() as session:
                step = _step(session, FactorPurpose.CHANGE, lock=True)
                if step is not None and (problem := _proof_problem(session, g.user)) is None:
                    cookie[STEP] = second_factors.renew(session, step=step, now=db.now(session))
    except Refusal as error:
        problem = _told(error)
    return _page(problem, fault="factor") if problem else _back()


@blueprint.post("/account/second-factors", endpoint="add_factor")
@auth.login_required
def add() -> ResponseReturnValue:
    """Add an authenticator app or a passkey; the first one also creates recovery codes."""
    codes = None
    try:
        with writing() as session:
            if (step := _confirmed(session)) is None:
                return _back(EXPIRED)
            now, is_first = db.now(session), not logins.has_factor(session, user=g.user)
            added = second_factors.add(
                session,
                user=g.user,
                name=request.form.get("name", ""),
                proof=_proof(),
                app=_new_app(),
                ceremony=_ceremony(),
                keep=g.login,
                now=now,
            )
            cookie[STEP] = second_factors.renew(session, step=step, now=now)
            if is_first:
                codes = second_factors.new_recovery_codes(session, user=g.user, now=now)
    except Refusal as error:
        return _page(_told(error), fault="passkey" if _proof().passkey else "app")
    return _page(codes=codes) if codes else _back(f"{added.name} added.")


@blueprint.post("/account/second-factors/<int:factor_id>/remove", endpoint="remove_factor")
@auth.login_required
def remove(factor_id: int) -> ResponseReturnValue:
    """Remove one of the user's second factors."""
    with writing() as session:
        if _confirmed(session) is None:
            return _back(EXPIRED)
        factor = second_factors.remove(
            session, user=g.user, factor_id=factor_id, actor=actor(), now=db.now(session)
        )
        is_last = not logins.has_factor(session, user=g.user)
        last = "Your account will have no second factor, and your recovery codes will be deleted."
        confirm(
            Question(
                heading=f"Remove {factor.name}?",
                sentences=(last if is_last else "You will no longer be able to log in with it.",),
                button="Remove",
                back=url_for(".second_factors"),
                is_final=True,
            )
        )
    return _back(f"{factor.name} removed.")


@blueprint.post("/account/second-factors/recovery-codes")
@auth.login_required
def new_recovery_codes() -> ResponseReturnValue:
    """Replace the recovery codes and show the new ones once."""
    with writing() as session:
        if _confirmed(session) is None or not logins.has_factor(session, user=g.user):
            return _back(EXPIRED)
        codes = second_factors.new_recovery_codes(session, user=g.user, now=db.now(session))
    return _page(codes=codes)


def _step(session: Any, purpose: FactorPurpose, *, lock: bool = False) -> FactorStep | None:
    """Return the browser's step with this purpose, or None.

    Changes belong to the current user, and logins to a provider that still exists.
    """
    if purpose is FactorPurpose.LOG_IN and cookie.get(PROVIDER) not in (None, *current_site().providers):
        return None
    token, now = cookie.get(STEP, ""), db.now(session)
    step = second_factors.find(session, token=token, purpose=purpose, now=now, lock=lock)
    is_foreign = step is not None and purpose is FactorPurpose.CHANGE and step.user_id != g.user.id
    return None if is_foreign else step


def _confirmed(session: Any) -> FactorStep | None:
    """Lock and return the step that allows changes, or None if the user must confirm first."""
    step = _step(session, FactorPurpose.CHANGE, lock=True)
    return step if step is not None and step.is_confirmed else None


def _proof() -> Proof:
    return Proof(code=request.form.get("code", ""), passkey=request.form.get("passkey", ""))


def _proof_problem(session: Any, user: User) -> Problem | None:
    """Return the problem of a wrong second factor, which is counted; None for a right one.

    Raises Refusal. Passkeys cannot be guessed and are not counted.
    """
    site, proof, now = current_site(), _proof(), db.now(session)
    secret, counted = site.settings.secret(), tuple[int, ...]()
    if site.settings.rate_limits and not proof.passkey:
        guesser = login_guesses.Guesser(
            account=login_guesses.account_hash(user.name, secret=secret),
            address=login_guesses.address_hash(request.remote_addr, secret=secret),
            device=auth.device_of(user),
            is_code=True,
        )
        counted = login_guesses.begin(session, guesser=guesser, now=now)
    if not second_factors.verify(session, user=user, proof=proof, ceremony=_ceremony(), key=secret, now=now):
        return WRONG, 422, {}
    login_guesses.take_back(session, counted=counted)
    return None


def _key(use: str) -> bytes:
    token, secret = cookie.get(STEP, ""), current_site().settings.secret()
    return second_factors.key_of(token, secret=secret, use=use)


def _ceremony() -> "Ceremony | None":
    """Return the site and the challenge of the step; None if browsers do not support passkeys here."""
    if (origin := passkey_origin()) is None:
        return None
    from grader.services.identity.passkeys import Ceremony

    return Ceremony(origin, urlsplit(origin).hostname or "", _key("challenge"))


def _request_options(own: Sequence[SecondFactor]) -> dict[str, Any] | None:
    ceremony = _ceremony()
    return ceremony.request_options(own) if ceremony is not None else None


def _new_app() -> NewApp:
    """Return the app that the step offers; the same one until the step is renewed."""
    return NewApp.of(g.user, key_id=_key("app").hex(), key=current_site().settings.secret())


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
    with reading() as session:
        step = _step(session, FactorPurpose.CHANGE)
        own = second_factors.list_own(session, user=g.user)
        left = second_factors.recovery_codes_left(session, user=g.user)
        required = current_site().settings.require_second_factor
        is_missing = second_factors.is_missing(session, user=g.user, required=required)
    message, status, headers = problem or (None, 201 if codes else 200, {})
    is_open, shown = step is not None and step.is_confirmed, dict[str, Any]()
    if is_open:
        app, ceremony = _new_app(), _ceremony()
        shown = {
            "secret": " ".join(app.secret[place : place + 4] for place in range(0, len(app.secret), 4)),
            "qr_code": _qr_code(app.uri(g.user, site=f"Fairboard ({urlsplit(base_url()).hostname})")),
            "creation": ceremony.creation_options(g.user, own) if ceremony else None,
        }
    page = render_template(
        "identity/second_factors.html",
        state="open" if is_open else "factor" if step else "password",
        factors=own,
        codes=codes,
        codes_left=left,
        is_missing=is_missing,
        problems={fault: message} if message else {},
        passkey=_request_options(own) if step and not is_open else None,
        target=auth.safe_target(request.args.get("next")) if request.args.get("next") else None,
        base_url=base_url(),
        has_passkeys=passkey_origin(is_anywhere=True) is not None,
        **shown,
    )
    return page, status, headers
