"""View of API tokens, login sessions and mail choices, with browser names, for the account page."""

import re
from datetime import datetime

from grader.models import ApiToken, Login
from grader.services.accounts.api_tokens import Scope
from grader.services.mail.outbox import Notice

LIFETIMES: dict[str, int | None] = {"7": 7, "30": 30, "90": 90, "365": 365, "never": None}
SCOPES = {"both": tuple(Scope), "read": (Scope.READ,), "submit": (Scope.SUBMIT,)}
NOTICES = {
    Notice.SCORED: "Results of my team's submissions",
    Notice.TEAM: "Invitations, merge requests and changes to my team",
    Notice.RESULTS: "Results of competitions",
    Notice.ORGANIZER: "Messages from organizers and their decisions about me",
}
# The first that fits: browsers name each other, and Android names Linux.
_BROWSERS = {
    "Edg(e|A|iOS)?/": "Edge",
    "OPR/|Opera": "Opera",
    "Firefox/|FxiOS/": "Firefox",
    "Chrom(e|ium)/|CriOS/": "Chrome",
    "Safari/": "Safari",
    "curl/": "curl",
    "python": "Python",
}
_SYSTEMS = {
    "Android": "Android",
    "iPhone|iPad": "iOS",
    "Windows": "Windows",
    "Mac OS X|Macintosh": "macOS",
    "CrOS": "ChromeOS",
    "Linux|X11": "Linux",
}


class TokenLine:
    """An API token as its owner sees it."""

    def __init__(self, token: ApiToken, now: datetime) -> None:
        self.id, self.name, self.prefix = token.id, token.name, token.prefix
        self.scopes = " and ".join(token.scopes)
        self.created_at, self.last_used_at = token.created_at, token.last_used_at
        self.expires_at = token.expires_at
        self.has_expired = token.expires_at is not None and token.expires_at <= now


class LoginLine:
    """A login as its owner sees it."""

    def __init__(self, login: Login, *, is_this: bool) -> None:
        self.id, self.is_this = login.id, is_this
        self.browser = browser_name(login.user_agent)
        self.created_at, self.last_used_at = login.created_at, login.last_used_at


def browser_name(user_agent: str) -> str:
    """Return the browser's name and system from its user agent, such as `Firefox on Linux`."""
    browser, system = _first(_BROWSERS, user_agent), _first(_SYSTEMS, user_agent)
    return " on ".join(name for name in (browser or "A browser", system) if name)


def _first(names: dict[str, str], text: str) -> str | None:
    return next((name for pattern, name in names.items() if re.search(pattern, text)), None)
