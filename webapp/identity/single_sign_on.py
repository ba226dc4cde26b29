"""Pages for single sign-on: login, new accounts, linking, unlinking, logout at the provider."""

import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

from flask import abort, flash, g, redirect, render_template, request, url_for
from flask import session as cookie
from flask.typing import ResponseReturnValue

from grader import db
from grader.errors import ParticipantError
from grader.services.competitions.acting import Act
from grader.services.identity import accounts, identities
from webapp.http import auth, context
from webapp.http.confirmation import confirm
from webapp.http.context import require_login, writing
from webapp.http.site import current_site, site_link
from webapp.identity.access import refused
from webapp.identity.own_account import PAGE, account, blueprint, require_confirmed

if TYPE_CHECKING:
    from grader.services.identity.openid_connect import OpenIDConnect

ARRIVAL = "oidc_arrival"  # key in the signed cookie
FLOW_SECONDS = 600
MOST_FLOWS = 3  # such as tabs with a login page
EXPIRED = "This login attempt has expired or was already used. Start again."
LOGGED_IN = "You are already logged in. An expired login attempt was ignored."


@blueprint.get("/login/with/<provider>")
def log_in_with(provider: str) -> ResponseReturnValue:
    """Redirect to a provider's login page."""
    try:
        return redirect(_begin(_client(provider), invitation=request.args.get("invitation", "")), 303)
    except ParticipantError as error:
        return _login_page(error)


@blueprint.get("/login/with/<provider>/callback")
def arrive(provider: str) -> ResponseReturnValue:
    """Receive a person from a provider: log in, ask for a name, or link the account."""
    client = _client(provider)
    flow = _spend_flow(provider)
    if flow is None and g.user is not None:
        flash(LOGGED_IN)
        return redirect(url_for("competitions.index"), 303)
    if flow is None:
        return _login_page(ParticipantError(EXPIRED))
    context.end_reading()  # The provider may take seconds to respond.
    try:
        claims = client.claims(request.args, flow["secrets"], redirect_uri=_callback(client))
        if flow["login"] is None:
            return _log_in(client, flow, claims)
        _link(client, flow, claims)
    except ParticipantError as error:
        return _login_page(error) if flow["login"] is None or g.user is None else account.refused(error)
    flash(f"You can now log in with {client.provider.label}.")
    return redirect(account.url(), 303)


@blueprint.route("/sign-up/with/<provider>", methods=["GET", "POST"])
def sign_up_with(provider: str) -> ResponseReturnValue:
    """Choose the name of a new account, and log in."""
    known_provider, arrival = _client(provider).provider, cookie.get(ARRIVAL)
    if arrival is None or arrival["provider"] != provider:
        return redirect(url_for(".log_in"), 303)
    template, settings = "identity/sign_up_with.html", current_site().settings
    if request.method == "GET":
        return render_template(template, provider=known_provider, problems={}, name=arrival["name"])
    name = request.form.get("name", "")
    try:
        with current_site().database.write() as session:
            now = db.now(session)
            identity = identities.pending(
                session,
                provider=known_provider,
                subject=arrival["subject"],
                arrived_at=datetime.fromisoformat(arrival["at"]),
                now=now,
            )
            user = identities.sign_up(
                session,
                provider=known_provider,
                identity=identity,
                name=name,
                is_admin=arrival["is_admin"],
                settings=settings,
                invitation=arrival["invitation"],
                now=now,
            )
            return auth.log_in(session, user, target=arrival["next"], provider=known_provider)
    except accounts.InvalidAccount as error:
        return refused(template, error, provider=known_provider, name=name)


@blueprint.get("/logged-out/<provider>")
def logged_out(provider: str) -> ResponseReturnValue:
    """Offer to end the session at the provider too."""
    client = _client(provider)
    context.end_reading()
    try:
        url = client.logout_url(back=site_link("competitions.index"))
    except ParticipantError:
        url = None
    if url is None:
        return redirect(url_for("competitions.index"))
    return render_template("identity/logged_out.html", provider=client.provider, url=url)


@blueprint.post("/account/identities/<provider>/link")
def link_identity(provider: str) -> ResponseReturnValue:
    """Check the password, and show the link to the provider that links the account.

    A redirect is not possible, because the content security policy also applies to redirects of forms.
    """
    require_login()
    client = _client(provider)
    try:
        require_confirmed()
        url = _begin(client, login_id=g.login.id)
    except ParticipantError as error:
        return account.refused(error)
    return render_template("identity/link_identity.html", provider=client.provider, url=url)


@PAGE.act(
    "/account/identities/<int:identity_id>/unlink",
    form="unlink_identity",
    back=account,
    done=lambda label, **_: f"{label} is no longer linked to your account.",
)
def unlink_identity(act: Act, identity_id: int) -> str:
    """Unlink one of the user's identities."""
    identity = identities.unlink(
        act, user=act.user, identity_id=identity_id, settings=current_site().settings, keep=g.login
    )
    client = current_site().providers.get(identity.provider)
    label = client.provider.label if client else identity.provider
    sentence = f"You will no longer be able to log in with {label}."
    confirm(f"Unlink {label}?", "Unlink", sentence)
    return label


def _log_in(client: "OpenIDConnect", flow: dict[str, Any], claims: dict[str, Any]) -> ResponseReturnValue:
    """Log in the identity's user, or ask a new person for a name."""
    site, provider = current_site(), client.provider
    with site.database.write() as session:
        now = db.now(session)
        known = identities.arrive(session, provider=provider, claims=claims, settings=site.settings, now=now)
        if known.user is not None:
            return auth.log_in(session, known.user, target=flow["next"], provider=provider)
        identities.require_may_sign_up(
            session, provider=provider, settings=site.settings, invitation=flow["invitation"], now=now
        )
    cookie[ARRIVAL] = {
        "provider": provider.slug,
        "subject": claims["sub"],
        "at": now.isoformat(),
        "is_admin": provider.makes_admin(claims),
        "name": identities.suggested_name(claims),
        "invitation": flow["invitation"],
        "next": flow["next"],
    }
    return redirect(url_for(".sign_up_with", provider=provider.slug), 303)


def _link(client: "OpenIDConnect", flow: dict[str, Any], claims: dict[str, Any]) -> None:
    """Link the identity to the account whose session started this attempt; raise Refusal."""
    if g.login is None or g.login.id != flow["login"]:
        raise ParticipantError(EXPIRED)
    settings, provider = current_site().settings, client.provider
    with writing() as session:
        identities.link(
            session, user=g.user, provider=provider, claims=claims, settings=settings, now=db.now(session)
        )


def _begin(client: "OpenIDConnect", *, invitation: str = "", login_id: int | None = None) -> str:
    """Store the secrets of a new login attempt in the cookie; return the URL of the provider's page.

    With `login_id`, the attempt links the account of this session.
    """
    context.end_reading()
    target = request.args.get("next", "")
    attempt = client.attempt(redirect_uri=_callback(client))
    url = attempt.pop("url")
    flow = {
        "provider": client.provider.slug,
        "secrets": attempt,
        "next": target if len(target) <= auth.TARGET_MAX_LENGTH else "",
        "invitation": invitation[:64],
        "login": login_id,
        "at": int(time.time()),
    }
    flows = {**cookie.get(auth.FLOWS, {}), attempt["state"]: flow}
    cookie[auth.FLOWS] = dict(list(flows.items())[-MOST_FLOWS:])
    return url


def _spend_flow(provider: str) -> dict[str, Any] | None:
    """Remove and return the login attempt to which this request belongs, or None."""
    flows = dict(cookie.get(auth.FLOWS, {}))
    flow = flows.pop(request.args.get("state", ""), None)
    cookie[auth.FLOWS] = flows
    is_own = flow is not None and flow["provider"] == provider and time.time() - flow["at"] < FLOW_SECONDS
    return flow if is_own else None


def _callback(client: "OpenIDConnect") -> str:
    return site_link("account.arrive", provider=client.provider.slug)


def _client(provider: str) -> "OpenIDConnect":
    return current_site().providers.get(provider) or abort(404)


def _login_page(error: ParticipantError) -> ResponseReturnValue:
    """Show the login page with an error; other ways to log in stay usable."""
    return refused("identity/log_in.html", error, field="provider", name="")
