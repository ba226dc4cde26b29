"""Account (pages and API): profile, e-mail, password, API tokens, sessions, account deletion."""

from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Any

from flask import Blueprint, flash, g, make_response, redirect, request, url_for
from flask.typing import ResponseReturnValue
from pydantic import Field

from grader.errors import ErrorKind, Refusal
from grader.models import ApiToken, LinkPurpose, User
from grader.services.competitions.acting import Act
from grader.services.identity import (
    accounts,
    api_tokens,
    email_addresses,
    identities,
    logins,
    one_time_links,
    passwords,
    second_factors,
)
from grader.services.identity.api_tokens import NAME_MAX_LENGTH, USUAL_SCOPES, Scope
from grader.services.site import mail_limits as limits
from grader.services.site.outbox import Notice
from webapp.http import auth
from webapp.http.confirmation import confirm
from webapp.http.context import competition_of
from webapp.http.fields import Answer, Moment, Sent, Text, entered
from webapp.http.site import current_site
from webapp.identity import password_guesses
from webapp.surface import Access, Ask, Surface

# The order matters: browsers also mention other browsers, and Android also mentions Linux.
BROWSERS = {"Edg": "Edge", "OPR": "Opera", "Firefox": "Firefox", "Chrome": "Chrome", "Safari": "Safari"}
SYSTEMS = {"Android": "Android", "iPhone": "iOS", "Windows": "Windows", "Mac OS": "macOS", "Linux": "Linux"}
LONGEST_DAYS = 36_500
RECENT = timedelta(minutes=10)
LOG_IN_AGAIN = (
    "Your account does not use a password. Log out, log in again, and repeat this within "
    f"{RECENT.seconds // 60} minutes."
)
blueprint = Blueprint("account", __name__)
ACCOUNT = Surface(blueprint, tag="account", role=Access.USER)
PAGE = replace(ACCOUNT, has_operations=False)


class TokenRequest(Sent):
    """A token to create, with no more rights than the token of the request."""

    name: Annotated[Text, Field(min_length=1, max_length=NAME_MAX_LENGTH)]
    scopes: Annotated[list[Scope], Field(min_length=1, default_factory=lambda: [*USUAL_SCOPES])]
    competition: Annotated[
        Text | None, Field(description="The only competition for which the token is valid; null for all.")
    ] = None
    days: Annotated[
        int | None,
        Field(
            ge=1, le=LONGEST_DAYS, description="The lifetime in days; null for a token that does not expire."
        ),
    ] = 90

    @staticmethod
    def of_form(_act: Act) -> dict[str, Any]:
        """Return the fields of the form, in which the lifetime can be `never`."""
        is_endless = request.form.get("days") == "never"
        return entered(TokenRequest) | ({"days": None} if is_endless else {})


class ProfileRequest(Sent):
    """The changes to the current user's settings; omitted fields stay the same."""

    notices: Annotated[list[Notice] | None, Field(description="The kinds of e-mail to receive.")] = None


class AddressRequest(Sent):
    """The new e-mail address; empty to remove the address."""

    email: Text = ""


class Token(Answer):
    """An API token, without its text."""

    id: int
    name: str
    begins_with: str
    scopes: list[Scope]
    competition: str | None
    created_at: Moment
    expires_at: Moment | None
    last_used_at: Moment | None


class NewToken(Token):
    """A new token; its text is shown only once."""

    token: str


class TokenList(Answer):
    """The user's tokens that are not revoked, newest first."""

    tokens: list[Token]
    next: None = None


class Asker(Answer):
    """The current user and the token of the request."""

    id: int
    name: str
    is_admin: bool
    notices: list[Notice]
    token: Token


def _token(token: ApiToken) -> Token:
    competition = token.competition.slug if token.competition else None
    return Token.of(token, begins_with=token.prefix, competition=competition)


def _asker(user: User) -> Asker:
    notices = [kind for kind in Notice if kind.value not in user.unwanted_notices]
    return Asker.of(user, notices=notices, token=_token(g.token))


def browser_name(user_agent: str) -> str:
    """Return the browser's name and system from its user agent, such as `Firefox on Linux`."""
    browsers = [name for word, name in BROWSERS.items() if word in user_agent]
    systems = [name for word, name in SYSTEMS.items() if word in user_agent]
    return " on ".join([*(browsers or ["A program"])[:1], *systems[:1]])


def require_confirmed() -> None:
    """Raise Refusal unless the user has just entered the password or, without one, has just logged in."""
    if not identities.has_password(g.user, current_site().settings):
        if g.asked_at - g.login.created_at > RECENT:
            raise Refusal("login_not_recent", ErrorKind.MISMATCH, LOG_IN_AGAIN)
    elif not password_guesses.own_password_is_right(request.form.get("current_password", "")):
        raise Refusal("wrong_password", ErrorKind.MISMATCH, "Wrong password.")


@PAGE.read("/account", None, endpoint="show", page="identity/show.html")
def account(ask: Ask) -> dict[str, Any]:
    """Show the account with its settings."""
    return {
        "new_token": None,
        "tokens": api_tokens.list_own(ask.session, user=ask.user),
        "logins": logins.list_own(ask.session, user=ask.user, now=ask.now),
        "identities": identities.own(ask.session, user=ask.user),
        "factor_count": len(second_factors.list_own(ask.session, user=ask.user)),
        "now": ask.now,
        "browser_name": browser_name,
    }


@replace(ACCOUNT, spans=True).read("/me", Asker)
def me(_ask: Ask) -> Asker:
    """Return the current user and the rights of the token."""
    return _asker(g.user)


@ACCOUNT.act(
    "/me",
    method="PATCH",
    form="choose_notices",
    back=account,
    done="E-mail settings saved.",
    answers=Asker,
)
def change_me(act: Act, sent: ProfileRequest) -> Asker | None:
    """Change the current user's e-mail settings."""
    person = act.session.get_one(User, act.user.id)
    if sent.notices is not None:
        person.unwanted_notices = [kind.value for kind in Notice if kind not in sent.notices]
    return _asker(person) if g.token else None


@PAGE.act(
    "/account/email",
    form="change_email",
    back=account,
    before=require_confirmed,
)
def change_email(act: Act, sent: AddressRequest) -> str:
    """Change the e-mail address, after confirmation if the site sends e-mails."""
    settings, address = current_site().settings, sent.email.strip()
    if not address or not settings.sends_mail():
        email_addresses.note(act.session, user=act.user, address=address)
        return "E-mail address saved." if address else "E-mail address removed."
    purpose = LinkPurpose.VERIFY_EMAIL
    if settings.rate_limits:
        limits.count_for_address(act.session, address=address, purpose=purpose, now=act.now)
    one_time_links.ask(act.session, purpose=purpose, user=act.user, address=address, now=act.now)
    return f"We sent a link to {address}. Open it to confirm the address."


def _new_password_hash() -> str:
    """Confirm the account, and return the hash of the new password."""
    passwords_of_site = current_site().passwords
    identities.require_may_use_password(g.user, current_site().settings)
    require_confirmed()
    with passwords_of_site.turn(is_known=True):
        new = request.form.get("new_password", "")
        return accounts.hashed(new, name=g.user.name, passwords=passwords_of_site)


def _password_changed(person: User, **_: Any) -> ResponseReturnValue:
    flash("Password changed. Your other sessions have ended.")
    return auth.know_device(make_response(redirect(url_for("account.show"), 303)), person)


@PAGE.act(
    "/account/password",
    form="change_password",
    back=account,
    done=_password_changed,
    before=_new_password_hash,
)
def change_password(act: Act, prepared: str) -> User:
    """Set a new password, and end the user's other sessions."""
    return passwords.set_password(act.session, user=act.user, password_hash=prepared, keep=g.login)


@replace(ACCOUNT, scope=Scope.READ).read("/tokens", TokenList)
def token_list(ask: Ask) -> TokenList:
    """List the current user's API tokens, without their texts."""
    tokens = api_tokens.list_own(ask.session, user=ask.user)
    return TokenList(tokens=[_token(each) for each in tokens], next=None)


@replace(ACCOUNT, scope=Scope.READ, spans=True).act(
    "/tokens",
    form="create_token",
    back=account,
    done=lambda made, **_: {"new_token": made, "form": {}},
    answers=NewToken,
    status=201,
)
def create_token(act: Act, sent: TokenRequest) -> NewToken:
    """Create an API token with no more rights and no later expiry than the token of the request.

    The token's text is shown only in this response. Revoking a token also revokes the tokens that were
    created with it.
    """
    made, text = api_tokens.create(
        act.session,
        user=act.user,
        name=sent.name,
        scopes=sent.scopes,
        lifetime=None if sent.days is None else timedelta(days=sent.days),
        competition=competition_of(act.session, sent.competition) if sent.competition else None,
        made_with=g.token,
        now=act.now,
    )
    act.session.refresh(made)
    return NewToken.of(_token(made), token=text)


@replace(ACCOUNT, scope=Scope.READ).act(
    "/tokens/<int:token_id>",
    method="DELETE",
    form="revoke_token",
    back=account,
    done="Token revoked.",
    status=204,
)
def revoke_token(act: Act, token_id: int) -> None:
    """Revoke one of the user's API tokens and those created with it.

    The token must have no more rights than the token of the request.
    """
    token = api_tokens.revoke(act.session, user=act.user, token_id=token_id, now=act.now, asking=g.token)
    if g.token is None:
        sentence = "Programs that use it will lose access."
        confirm(f"Revoke the token {token.name}?", "Revoke token", sentence, is_final=True)


@PAGE.act(
    "/account/logins/<int:login_id>/end",
    form="end_login",
    back=account,
    done=lambda _, login_id: auth.log_out() if login_id == g.login.id else "Session ended.",
)
def end_login(act: Act, login_id: int) -> None:
    """End one of the user's sessions."""
    logins.end_own(act.session, user=act.user, login_id=login_id)


@PAGE.act("/account/logins/end", form="log_out_everywhere", back=account, done=lambda _: auth.log_out())
def log_out_everywhere(act: Act) -> None:
    """End all of the user's sessions."""
    logins.end_all(act.session, user=act.user)


@PAGE.read("/account/delete", None, endpoint="delete", page="identity/delete.html")
def deletion(_ask: Ask) -> dict[str, Any]:
    """Show the consequences of deleting the account."""
    return {}


def _deleted(_: None) -> ResponseReturnValue:
    gone = auth.log_out()  # Deleting the account ended the other sessions.
    flash("Account deleted.")
    return gone


@PAGE.act("/account/delete", form="delete_account", back=deletion, done=_deleted, before=require_confirmed)
def delete_account(act: Act) -> None:
    """Delete and anonymize the account after checking the password."""
    accounts.delete_account(act.session, user=act.user, secret=current_site().settings.secret(), now=act.now)
