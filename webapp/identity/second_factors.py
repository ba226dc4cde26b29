"""Pages for second factors: the second step of a login, setup, removal, recovery codes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from flask import flash, g, redirect, render_template, request, url_for
from flask import session as cookie
from flask.typing import ResponseReturnValue
from markupsafe import Markup

from grader import db
from grader.errors import ErrorKind, Refusal
from grader.models import FactorPurpose, FactorStep, SecondFactor, User
from grader.services.competitions.acting import Act
from grader.services.identity import login_guesses, logins, second_factors
from grader.services.identity.second_factors import NewApp, Proof
from grader.services.site import counting
from webapp.http import auth, errors
from webapp.http.auth import PROVIDER, STEP, TARGET
from webapp.http.confirmation import confirm
from webapp.http.context import reading, require_login, writing
from webapp.http.site import base_url, current_site, passkey_origin
from webapp.identity import password_guesses
from webapp.identity.own_account import PAGE, blueprint, require_confirmed
from webapp.surface import Ask

if TYPE_CHECKING:
    from grader.services.identity.passkeys import Ceremony

EXPIRED = "Too much time has passed. Start again."


@blueprint.route("/login/second-factor", methods=["GET", "POST"])
def second_factor() -> ResponseReturnValue:
    """Ask for the second factor after the password, and start the session."""
    problem = None
    if request.method == "POST":
        try:
            if (started := _second_step()) is not None:
                return started
        except Refusal as error:
            problem = error
    with reading() as session:
        if (step := _step(session, FactorPurpose.LOG_IN)) is None:
            if g.user is None and STEP in cookie:
                flash(EXPIRED)
            return redirect(auth.safe_target(None) if g.user else url_for(".log_in", next=cookie.get(TARGET)))
        passkey = _request_options(second_factors.list_own(session, user=step.user))
    page = render_template("identity/second_factor.html", problem=problem, passkey=passkey)
    return page if problem is None else (page, errors.status_of(problem), errors.headers_of(problem))


def _second_step() -> ResponseReturnValue | None:
    """Start the session of a proved step; None if the step has ended. Raises Refusal."""
    site = current_site()
    with site.database.write() as session:
        step = _step(session, FactorPurpose.LOG_IN, lock=True)
        if step is None:
            return None
        if _is_proved(session, step.user):
            second_factors.end(session, step=step)
            slug, target = cookie.get(PROVIDER), auth.safe_target(cookie.get(TARGET))
            provider = site.providers[slug].provider if slug else None
            return auth.start_session(
                session, step.user, target=target, provider=provider, has_proved_factor=True
            )
    raise _wrong()  # after the commit, so that the attempt stays counted


@PAGE.read("/account/second-factors", None, endpoint="second_factors", page="identity/second_factors.html")
def own_factors(ask: Ask) -> dict[str, Any]:
    """Show the second factors; changes require the password and, if there is one, a second factor."""
    own, step = second_factors.list_own(ask.session, user=ask.user), _step(ask.session, FactorPurpose.CHANGE)
    required, target = current_site().settings.require_second_factor, request.args.get("next")
    shown: dict[str, Any] = {
        "codes": None,
        "state": "password" if step is None else "open" if step.is_confirmed else "factor",
        "factors": own,
        "codes_left": second_factors.recovery_codes_left(ask.session, user=ask.user),
        "is_missing": second_factors.is_missing(ask.session, user=ask.user, required=required),
        "target": auth.safe_target(target) if target else None,
        "base_url": base_url(),
    }
    if step is not None and not step.is_confirmed:
        shown["passkey"] = _request_options(own)
    if step is not None and step.is_confirmed:
        app, ceremony = _new_app(), _ceremony()
        shown |= {
            "secret": " ".join(app.secret[place : place + 4] for place in range(0, len(app.secret), 4)),
            "qr_code": _qr_code(app.uri(ask.user, site=f"Fairboard ({urlsplit(base_url()).hostname})")),
            "creation": ceremony.creation_options(ask.user, own) if ceremony else None,
        }
    return shown


@blueprint.post("/account/second-factors/unlock")
def unlock_factors() -> ResponseReturnValue:
    """Allow changes for some minutes after checking the password and then the second factor."""
    require_login()
    try:
        _unlock()
    except Refusal as error:
        return own_factors.refused(error)
    return redirect(_here())


def _unlock() -> None:
    """Begin a step after the password, or confirm it with a second factor; raise Refusal."""
    with reading() as session:
        step = _step(session, FactorPurpose.CHANGE)
    if step is None and _proof() != Proof():
        raise _expired()
    if step is None:
        require_confirmed()
    is_right = True
    with writing() as session:
        now, is_confirmed = db.now(session), not logins.has_factor(session, user=g.user)
        if step is None:
            change = FactorPurpose.CHANGE
            cookie[STEP] = second_factors.begin(
                session, user=g.user, purpose=change, is_confirmed=is_confirmed, now=now
            )
        elif not step.is_confirmed:
            step = _step(session, FactorPurpose.CHANGE, lock=True)
            if step is not None and (is_right := _is_proved(session, g.user)):
                cookie[STEP] = second_factors.renew(session, step=step, now=now)
    if not is_right:
        raise _wrong()


def _added(added: tuple[SecondFactor, list[str]], **_: Any) -> Any:
    factor, codes = added
    return {"codes": codes} if codes else (f"{factor.name} added.", _here())


@PAGE.act("/account/second-factors", form="add_factor", back=own_factors, done=_added, status=201)
def add_factor(act: Act) -> tuple[SecondFactor, list[str]]:
    """Add an authenticator app or a passkey; the first one also creates recovery codes."""
    step, is_first = _confirmed(act), not logins.has_factor(act.session, user=act.user)
    added = second_factors.add(
        act,
        name=request.form.get("name", ""),
        proof=_proof(),
        app=_new_app(),
        ceremony=_ceremony(),
        keep=g.login,
    )
    cookie[STEP] = second_factors.renew(act.session, step=step, now=act.now)
    return added, second_factors.new_recovery_codes(act) if is_first else []


@PAGE.act(
    "/account/second-factors/<int:factor_id>/remove",
    form="remove_factor",
    back=own_factors,
    done=lambda name, **_: (f"{name} removed.", _here()),
)
def remove_factor(act: Act, factor_id: int) -> str:
    """Remove one of the user's second factors."""
    _confirmed(act)
    factor = second_factors.remove(act, factor_id=factor_id)
    sentence = "You will no longer be able to log in with it."
    if not logins.has_factor(act.session, user=act.user):
        sentence = "Your account will have no second factor, and your recovery codes will be deleted."
    confirm(f"Remove {factor.name}?", "Remove", sentence, is_final=True)
    return factor.name


@PAGE.act(
    "/account/second-factors/recovery-codes",
    form="new_recovery_codes",
    back=own_factors,
    done=lambda codes: {"codes": codes},
    status=201,
)
def new_recovery_codes(act: Act) -> list[str]:
    """Replace the recovery codes and show the new ones once."""
    _confirmed(act)
    if not logins.has_factor(act.session, user=act.user):
        raise _expired()
    return second_factors.new_recovery_codes(act)


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


def _confirmed(act: Act) -> FactorStep:
    """Lock and return the step that allows changes; raise Refusal if the user must confirm first."""
    step = _step(act.session, FactorPurpose.CHANGE, lock=True)
    if step is None or not step.is_confirmed:
        raise _expired()
    return step


def _expired() -> Refusal:
    return Refusal("step_expired", ErrorKind.CONFLICT, EXPIRED)


def _wrong() -> Refusal:
    return Refusal("wrong_factor", ErrorKind.MISMATCH, "This code or passkey is wrong.")


def _proof() -> Proof:
    return Proof(code=request.form.get("code", ""), passkey=request.form.get("passkey", ""))


def _is_proved(session: Any, user: User) -> bool:
    """Return whether the second factor is right; wrong ones are counted. Raises Refusal.

    Passkeys cannot be guessed and are not counted. The refusal of a used code undoes its count.
    """
    site, proof, now = current_site(), _proof(), db.now(session)
    counted = tuple[int, ...]()
    if site.settings.rate_limits and not proof.passkey:
        guesser = password_guesses.guesser(user.name, user, is_code=True)
        counted = login_guesses.begin(session, guesser=guesser, now=now)
    key = site.settings.secret()
    if not second_factors.verify(session, user=user, proof=proof, ceremony=_ceremony(), key=key, now=now):
        return False
    counting.take_back(session, ids=counted)
    return True


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


def _here() -> str:
    return url_for("account.second_factors", next=request.args.get("next"))
