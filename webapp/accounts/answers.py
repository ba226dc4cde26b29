"""The API's requests and answers about a person: who asks, with which token, and their tokens."""

from typing import Annotated

from pydantic import Field

from grader.models import ApiToken, User
from grader.services.accounts.api_tokens import NAME_MAX_LENGTH, USUAL_SCOPES, Scope
from grader.services.accounts.personal_pages import PersonalPage
from grader.services.mail.outbox import Notice
from webapp.http.fields import Answer, Moment, Sent, Text, Whole
from webapp.http.site import site_link

LONGEST_DAYS = 36_500


class TokenRequest(Sent):
    """A token to create, with no more rights than the token of the request."""

    name: Annotated[Text, Field(min_length=1, max_length=NAME_MAX_LENGTH)]
    scopes: Annotated[list[Scope], Field(min_length=1, default_factory=lambda: [*USUAL_SCOPES])]
    competition: Annotated[
        Text | None, Field(description="The only competition that the token gives access to; null for all.")
    ] = None
    days: Annotated[Whole | None, Field(ge=1, le=LONGEST_DAYS, description="Null for no end.")] = 90


class ProfileRequest(Sent):
    """What to change about oneself; what is not named stays."""

    about: Text | None = None
    notices: Annotated[list[Notice] | None, Field(description="The kinds of mail to get.")] = None
    has_page: Annotated[bool | None, Field(description="Whether everybody may see a page of the person.")] = (
        None
    )


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
    """A token that was just made; its text is shown this once."""

    token: str


class TokenList(Answer):
    """A person's tokens that are not revoked, the newest first."""

    tokens: list[Token]
    next: None = None


class EnteredTeam(Answer):
    """A team of a person that a leaderboard shows; `rank` is null before the reveal."""

    competition: str
    team_id: int
    team: str
    rank: int | None
    team_count: int | None


class PersonPage(Answer):
    """What a person shows to everybody."""

    name: str
    about: str
    teams: list[EnteredTeam]


class Asker(Answer):
    """Who asks, and with which token; `page` is the address of the person's page, null where it is off."""

    id: int
    name: str
    is_admin: bool
    about: str
    notices: list[Notice]
    page: str | None
    token: Token


def token(found: ApiToken) -> Token:
    """Return a token."""
    competition = found.competition.slug if found.competition else None
    return Token.of(found, begins_with=found.prefix, competition=competition)


def new_token(made: ApiToken, text: str) -> NewToken:
    """Return a token with its text."""
    return NewToken.of(token(made), token=text)


def asker(user: User, used: ApiToken) -> Asker:
    """Return the person who asks."""
    return Asker.of(
        user,
        notices=[kind for kind in Notice if kind.value not in user.unwanted_notices],
        page=user.page_key and site_link("people.profile", key=user.page_key),
        token=token(used),
    )


def person_page(found: PersonalPage) -> PersonPage:
    """Return a person's page."""
    teams = [EnteredTeam.of(each, competition=each.slug) for each in found.entered]
    return PersonPage.of(found, teams=teams)
