"""Competitions, submissions and open requests of the current user, and the competition list."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from flask import Flask, g, request
from flask import session as flask_session

from grader import db
from grader.models import Competition, CompetitionState, Team
from grader.services.competitions import lookup, organizers, phases
from grader.services.identity.api_tokens import Scope, require_scope
from grader.services.site.paging import Page, page_of_list
from grader.services.submissions import accepting
from grader.services.submissions.accepting import Opened
from grader.services.teams import mail, participations, waiting
from grader.services.teams.waiting import Waiting
from grader.visibility import Viewer
from webapp.http.context import TOKEN_BLUEPRINTS, competition_of, reading
from webapp.http.site import Keep, current_site

PAGE_SIZE = 100
LONGEST_KEPT = 300  # characters of a URL
STATES = ("open", "scheduled", "draft", "closed", "revealed", "archived")  # order of the list
SOON = STATES.index("scheduled")


def keep(competition: Competition, now: datetime) -> Keep:
    """Return the cache of this process for the present state of a competition and the current viewer.

    Every act of a person changes the state, so only new scores may be missing, for `PAGE_SECONDS`.
    """
    state = (
        competition.id,
        competition.act_number,
        competition.live_scoring_version_id,
        phases.phase(competition, now),
        competition.feedback,
        competition.revealed_at,
        viewer(),
    )
    pages = current_site().pages
    return lambda key, make, *is_fresh: pages.get((state, key), make, *is_fresh)


def for_visitors(slug: str, make: Callable[[], str]) -> str:
    """Return a text made by `make`; visitors without a login share one text per URL and state."""
    asked = request.root_url, request.full_path
    has_messages = request.blueprint not in TOKEN_BLUEPRINTS and bool(flask_session)
    if g.user is not None or has_messages or len(request.full_path) > LONGEST_KEPT:
        return make()
    with reading() as session:
        competition = competition_of(session, slug)
        return keep(competition, db.now(session))(asked, make)


def own_team(session: Any, competition: Competition) -> Team | None:
    """Return the current user's team. Call `competition_of` first."""
    return accepting.team_of(session, competition=competition, user=g.user, role=g.organizer_role)


def open_submission(session: Any, submission_id: int) -> Opened:
    """Return a submission with the current user's view of it, limited by the token's scopes.

    Raises UnknownSubmission, or Refusal for an organizer's token without the scope `organize`.
    """
    opened = accepting.open_submission(session, user=g.user, submission_id=submission_id)
    if opened.viewer is not Viewer.ORGANIZER or _may_organize():
        return opened
    if not opened.is_own:
        require_scope(g.token, Scope.ORGANIZE)
    return replace(opened, viewer=Viewer.TEAM)


def listed_page(session: Any, *, page: int, now: datetime, search: str = "") -> Page[Competition]:
    """Return a page of the competitions visible to the current user, open ones first.

    With `search`, each of its words must occur in the slug, the title or the overview.
    """
    words = search.casefold().split()
    competitions = [
        each
        for each in listed(session)
        if all(word in f"{each.slug} {each.title} {each.overview}".casefold() for word in words)
    ]
    states = {each.id: STATES.index(phases.state(each, now)) for each in competitions}
    competitions = sorted(_current_stages(competitions, states), key=lambda each: states[each.id])
    return page_of_list(competitions, page=page, page_size=PAGE_SIZE)


def _current_stages(competitions: list[Competition], states: Mapping[int, int]) -> list[Competition]:
    """Keep one stage of each title: the latest that has opened, or the next one once that is over."""
    published = {each.id for each in competitions if each.state is not CompetitionState.DRAFT}
    hidden = set()
    for each in competitions:
        if each.id in published and each.previous_stage_id in published:
            waits = states[each.id] == SOON and states[each.previous_stage_id] <= SOON
            hidden.add(each.id if waits else each.previous_stage_id)
    return [each for each in competitions if each.id not in hidden]


def listed(session: Any) -> list[Competition]:
    """Return the competitions visible to the current user, newest first."""
    competitions = lookup.list_all(session)
    if g.token is not None and g.token.competition_id is not None:
        competitions = [each for each in competitions if each.id == g.token.competition_id]
    if g.user is not None and g.user.is_admin:
        return competitions
    own = organizers.roles(session, user=g.user)
    joined = participations.competition_ids(session, user=g.user)
    return [
        each
        for each in competitions
        if each.id in own
        or (
            each.state is not CompetitionState.DRAFT
            and each.visibility.is_readable(takes_part=each.id in joined, organizes=False)
        )
    ]


def viewer() -> Viewer:
    """Return which kind of viewer the current user is. Call `competition_of` first.

    An organizer's token without the scope `organize` has a participant's view.
    """
    if g.organizer_role is not None and _may_organize():
        return Viewer.ORGANIZER
    return Viewer.PUBLIC if g.user is None else Viewer.PARTICIPANT


def _may_organize() -> bool:
    return g.token is None or Scope.ORGANIZE.value in g.token.scopes


def open_requests(*, with_entries: bool = True) -> tuple[Waiting, ...]:
    """Return the current user's open requests; none for a visitor.

    With a token, requests to join require the scope `organize`.
    """
    if g.user is None:
        return ()
    with_entries = with_entries and _may_organize()
    with reading() as session:
        return waiting.requests(session, user=g.user, now=g.asked_at, with_entries=with_entries)


def in_competition(slug: str) -> tuple[Waiting, ...]:
    """Return the user's open requests in one competition; only organizers decide on requests to join."""
    requests = open_requests(with_entries=g.organizer_role is not None)
    return tuple(item for item in requests if item.competition == slug)


def init_app(app: Flask) -> None:
    """Register the template functions for open requests and appeals."""
    app.add_template_global(in_competition, "requests_in")
    app.add_template_global(mail.how_to_appeal)
