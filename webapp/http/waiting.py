"""What waits for the answer of the person who asks: read once for a request, for the bell and the pages."""

import logging

from flask import Flask, g

from grader import db, disk
from grader.services.accounts.api_tokens import Scope
from grader.services.teams import waiting
from grader.services.teams.waiting import Waiting, WaitingKind
from webapp.http.site import current_site

log = logging.getLogger(__name__)
FOR_EVERYBODY = (WaitingKind.INVITATION, WaitingKind.MERGER)


def items() -> tuple[Waiting, ...]:
    """Return what waits for the person who is logged in, with one statement; nothing for a stranger."""
    if g.get("user") is None:
        return ()
    if "waiting" not in g:
        with current_site().database.read() as session:
            g.waiting = waiting.for_person(session, user=g.user, now=g.asked_at)
    return tuple(item for item in g.waiting if _token_serves(item))


def in_competition(slug: str) -> tuple[Waiting, ...]:
    """Return what waits for the person in one competition; it costs nothing beside the bell."""
    return tuple(item for item in items() if item.slug == slug)


def bell() -> int:
    """Return how many answers are waited for; none where the database does not answer: the page goes on."""
    try:
        return waiting.count(items())
    except Exception as error:
        if not (disk.is_full(error) or db.is_unavailable(error)):
            raise
        log.warning("Could not read what waits for a person: %s", error)
        return 0


def init_app(app: Flask) -> None:
    """Give all templates the bell, and what waits in a competition."""
    app.add_template_global(bell, "bell_count")
    app.add_template_global(in_competition, "waiting_in")


def _token_serves(item: Waiting) -> bool:
    """Return whether the asker's token reaches so far: what organizers answer needs its scope."""
    return g.token is None or item.kind in FOR_EVERYBODY or Scope.ORGANIZE.value in g.token.scopes
