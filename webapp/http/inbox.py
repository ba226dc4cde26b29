"""The user's pending requests and unread notifications, loaded once per request."""

import logging

from flask import Flask, g

from grader import db
from grader.services.accounts.api_tokens import Scope
from grader.services.teams import mail, waiting
from grader.services.teams.waiting import Inbox, Waiting, WaitingKind
from grader.storage import disk
from webapp.http.context import reading

log = logging.getLogger(__name__)
FOR_EVERYBODY = (WaitingKind.INVITATION, WaitingKind.MERGER)


def items() -> tuple[Waiting, ...]:
    """Return the current user's pending items with one query; none for a visitor."""
    return tuple(item for item in _inbox().waiting if _token_serves(item))


def in_competition(slug: str) -> tuple[Waiting, ...]:
    """Return the user's pending items in one competition, from the same query as the bell."""
    return tuple(item for item in items() if item.slug == slug)


def bell() -> int:
    """Return the number of unread notifications and pending requests."""
    return _shown().unread_count + waiting.count(_shown().waiting)


def disqualified_because(slug: str) -> str | None:
    """Return the reason for the disqualification of the user's team, or None."""
    return _shown().disqualifications.get(slug)


def init_app(app: Flask) -> None:
    """Register the template functions for the bell, pending items and disqualifications."""
    app.add_template_global(bell, "bell_count")
    app.add_template_global(in_competition, "waiting_in")
    app.add_template_global(disqualified_because)
    app.add_template_global(mail.how_to_appeal)


def _inbox() -> Inbox:
    if g.get("user") is None:
        return Inbox()
    if "waiting" not in g:
        with reading() as session:
            g.waiting = waiting.for_person(session, user=g.user, now=g.asked_at)
    found: Inbox = g.waiting
    return found


def _shown() -> Inbox:
    """Return the inbox for the page layout; empty if the database is unavailable."""
    try:
        return _inbox()
    except Exception as error:
        if not (disk.is_full(error) or db.is_unavailable(error)):
            raise
        log.warning("Could not read a user's pending items: %s", error)
        g.waiting = nothing = Inbox()
        return nothing


def _token_serves(item: Waiting) -> bool:
    """Return whether the token covers this item; organizers' decisions require the scope `organize`."""
    return g.token is None or item.kind in FOR_EVERYBODY or Scope.ORGANIZE.value in g.token.scopes
