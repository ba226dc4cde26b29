"""API: who asks, and the person's API tokens."""

from datetime import timedelta
from typing import Any

from flask import g

from grader import db
from grader.models import User
from grader.services.accounts import accounts, api_tokens, personal_pages
from grader.services.accounts.api_tokens import Scope
from webapp.accounts import answers
from webapp.accounts.answers import Asker, NewToken, PersonPage, ProfileRequest, TokenList, TokenRequest
from webapp.http.api import blueprint, operation
from webapp.http.context import competition_of, reading, writing

TAG = "account"


@blueprint.get("/me")
@operation(Scope.READ, answers=Asker, tag=TAG, spans=True)
def me() -> Asker:
    """Return who asks, and what the token may do."""
    return answers.asker(g.user, g.token)


@blueprint.patch("/me")
@operation(Scope.SUBMIT, answers=Asker, tag=TAG)
def change_me(json: ProfileRequest) -> Asker:
    """Change what the person says about themselves, which mails they get, and whether they have a page."""
    with writing() as session:
        if json.about is not None:
            accounts.describe(session, user=g.user, about=json.about)
        if json.notices is not None:
            accounts.choose_notices(session, user=g.user, wanted=[each.value for each in json.notices])
        if json.has_page is not None:
            turn = personal_pages.turn_on if json.has_page else personal_pages.turn_off
            turn(session, user=g.user)
        person = session.get_one(User, g.user.id)
        session.refresh(person)
        return answers.asker(person, g.token)


@blueprint.post("/me/avatar")
@operation(Scope.SUBMIT, status=204, tag=TAG)
def draw_avatar() -> Any:
    """Draw another avatar of the person."""
    with writing() as session:
        personal_pages.draw_avatar(session, user=g.user)
    return "", 204


@blueprint.get("/people/<key>")
@operation(None, answers=PersonPage, tag=TAG)
def person_page(key: str) -> PersonPage:
    """Return the page of a person who turned it on: ranks are there after the reveal."""
    with reading() as session:
        return answers.person_page(personal_pages.get(session, key=key, now=db.now(session)))


@blueprint.get("/tokens")
@operation(Scope.READ, answers=TokenList, tag=TAG)
def token_list() -> TokenList:
    """List the person's API tokens, without their texts."""
    with reading() as session:
        found = api_tokens.list_own(session, user=g.user)
    return TokenList(tokens=[answers.token(each) for each in found], next=None)


@blueprint.post("/tokens")
@operation(Scope.READ, answers=NewToken, status=201, tag=TAG, creates=True, shows_secret=True, spans=True)
def create_token(json: TokenRequest) -> tuple[NewToken, int]:
    """Make an API token that may do no more than the one that asks, and ends with it at the latest.

    Its text is shown in this answer alone. Who revokes a token also revokes those that were made with it.
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
        return answers.new_token(made, text), 201


@blueprint.delete("/tokens/<int:token_id>")
@operation(Scope.READ, status=204, tag=TAG)
def revoke_token(token_id: int) -> Any:
    """Revoke one of the person's API tokens that may do no more than this one, and those made with it."""
    with writing() as session:
        api_tokens.revoke(session, user=g.user, token_id=token_id, now=db.now(session), asking=g.token)
    return "", 204
