"""The user's open requests and disqualifications, loaded once per HTTP request."""

from flask import Flask, g

from grader.services.identity.api_tokens import Scope
from grader.services.teams import mail, waiting
from grader.services.teams.waiting import Waiting, WaitingKind
from webapp.http.context import reading


def items() -> tuple[Waiting, ...]:
    """Return the current user's open requests; none for a visitor.

    With a token, requests to join require the scope `organize`.
    """
    shows_entries = g.get("token") is None or Scope.ORGANIZE.value in g.token.scopes
    return tuple(each for each in _loaded()[0] if shows_entries or each.kind != WaitingKind.ENTRY)


def in_competition(slug: str) -> tuple[Waiting, ...]:
    """Return the user's open requests in one competition."""
    return tuple(item for item in items() if item.slug == slug)


def disqualified_because(slug: str) -> str | None:
    """Return the reason for the disqualification of the user's team, or None."""
    return _loaded()[1].get(slug)


def init_app(app: Flask) -> None:
    """Register the template functions for open requests and disqualifications."""
    app.add_template_global(in_competition, "requests_in")
    app.add_template_global(disqualified_because)
    app.add_template_global(mail.how_to_appeal)


def _loaded() -> tuple[tuple[Waiting, ...], dict[str, str]]:
    """Return the user's open requests, and the reasons of disqualifications by slug."""
    if g.get("user") is None:
        return (), {}
    if "open_requests" not in g:
        with reading() as session:
            requests = waiting.requests(session, user=g.user, now=g.asked_at)
            g.open_requests = requests, waiting.disqualifications(session, user=g.user)
    loaded: tuple[tuple[Waiting, ...], dict[str, str]] = g.open_requests
    return loaded
