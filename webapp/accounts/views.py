"""View of API tokens, login sessions and mail choices for the account page."""

from datetime import datetime

from grader.models import ApiToken, Login
from grader.services.accounts.api_tokens import USUAL_SCOPES, Scope
from grader.services.mail.outbox import Notice
from webapp.accounts.browser_names import browser_name

LIFETIMES: dict[str, int | None] = {"7": 7, "30": 30, "90": 90, "365": 365, "never": None}
SCOPES = {
    "both": USUAL_SCOPES,
    "read": (Scope.READ,),
    "submit": (Scope.SUBMIT,),
    "organize": (*USUAL_SCOPES, Scope.ORGANIZE),
    "all": tuple(Scope),
}
NOTICES = {
    Notice.SCORED: "Results of my team's submissions",
    Notice.TEAM: "Invitations, merge requests and changes to my team",
    Notice.RESULTS: "Results of competitions",
    Notice.ORGANIZER: "Messages from organizers and their decisions about me",
}


class TokenLine:
    """An API token as its owner sees it."""

    def __init__(self, token: ApiToken, now: datetime) -> None:
        self.id, self.name, self.prefix = token.id, token.name, token.prefix
        self.scopes = ", ".join(token.scopes)
        self.competition = token.competition.slug if token.competition else ""
        self.created_at, self.last_used_at = token.created_at, token.last_used_at
        self.expires_at = token.expires_at
        self.has_expired = token.expires_at is not None and token.expires_at <= now


class LoginLine:
    """A login as its owner sees it."""

    def __init__(self, login: Login, *, is_this: bool) -> None:
        self.id, self.is_this = login.id, is_this
        self.browser = browser_name(login.user_agent)
        self.created_at, self.last_used_at = login.created_at, login.last_used_at
