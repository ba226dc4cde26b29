"""API for the token's owner: profile and API tokens."""

from datetime import timedelta
from typing import Annotated, Any

from flask import g
from pydantic import Field

from grader import db
from grader.models import ApiToken, User
from grader.services.identity import accounts, api_tokens
from grader.services.identity.api_tokens import NAME_MAX_LENGTH, USUAL_SCOPES, Scope
from grader.services.site.outbox import Notice
from webapp.http.api import blueprint, operation
from webapp.http.context import competition_of, reading, writing
from webapp.http.fields import Answer, Moment, Sent, Text, Whole

TAG = "account"
LONGEST_DAYS = 36_500


class TokenRequest(Sent):
    """A token to create, with no more rights than the token of the request."""

    name: Annotated[Text, Field(min_length=1, max_length=NAME_MAX_LENGTH)]
    scopes: Annotated[list[Scope], Field(min_length=1, default_factory=lambda: [*USUAL_SCOPES])]
    competition: Annotated[
        Text | None, Field(description="The only competition for which the token is valid; null for all.")
    ] = None
    days: Annotated[
        Whole | None,
        Field(
            ge=1, le=LONGEST_DAYS, description="The lifetime in days; null for a token that does not expire."
        ),
    ] = 90


class ProfileRequest(Sent):
    """The changes to the current user's settings; omitted fields stay the same."""

    notices: Annotated[list[Notice] | None, Field(description="The kinds of e-mail to receive.")] = None


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


@blueprint.get("/me")
@operation(Scope.READ, answers=Asker, tag=TAG, spans=True)
def me() -> Asker:
    """Return the current user and the rights of the token."""
    return _asker(g.user, g.token)


@blueprint.patch("/me")
@operation(Scope.SUBMIT, answers=Asker, tag=TAG)
def change_me(json: ProfileRequest) -> Asker:
    """Change the current user's e-mail settings."""
    with writing() as session:
        if json.notices is not None:
            accounts.choose_notices(session, user=g.user, wanted=[each.value for each in json.notices])
        person = session.get_one(User, g.user.id)
        session.refresh(person)
        return _asker(person, g.token)


@blueprint.get("/tokens")
@operation(Scope.READ, answers=TokenList, tag=TAG)
def token_list() -> TokenList:
    """List the current user's API tokens, without their texts."""
    with reading() as session:
        tokens = api_tokens.list_own(session, user=g.user)
    return TokenList(tokens=[_token(each) for each in tokens], next=None)


@blueprint.post("/tokens")
@operation(Scope.READ, answers=NewToken, status=201, tag=TAG, spans=True)
def create_token(json: TokenRequest) -> tuple[NewToken, int]:
    """Create an API token with no more rights and no later expiry than the token of the request.

    The token's text is shown only in this response. Revoking a token also revokes the tokens that were
    created with it.
    """
    with writing() as session:
        made, text = api_tokens.create(
            session,
            user=g.user,
            name=json.name,
            scopes=json.scopes,
            lifetime=None if json.days is None else timedelta(days=json.days),
            competition=competition_of(session, json.competition) if json.competition else None,
            made_with=g.token,
            now=db.now(session),
        )
        session.refresh(made)
        return _new_token(made, text), 201


@blueprint.delete("/tokens/<int:token_id>")
@operation(Scope.READ, status=204, tag=TAG)
def revoke_token(token_id: int) -> Any:
    """Revoke one of the user's API tokens and those created with it.

    The token must have no more rights than the token of the request.
    """
    with writing() as session:
        api_tokens.revoke(session, user=g.user, token_id=token_id, now=db.now(session), asking=g.token)
    return "", 204


def _token(token: ApiToken) -> Token:
    competition = token.competition.slug if token.competition else None
    return Token.of(token, begins_with=token.prefix, competition=competition)


def _new_token(made: ApiToken, text: str) -> NewToken:
    return NewToken.of(_token(made), token=text)


def _asker(user: User, used: ApiToken) -> Asker:
    return Asker.of(
        user,
        notices=[kind for kind in Notice if kind.value not in user.unwanted_notices],
        token=_token(used),
    )
