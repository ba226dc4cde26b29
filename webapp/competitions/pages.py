"""Competition pages: list, Home, Evaluation, figures, public log."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from flask import Blueprint, Response, g, render_template, request, send_file
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Competition, Team
from grader.services.competitions import announcements, drafts, figures, lookup
from grader.services.leaderboards import glance
from grader.services.leaderboards.glance import Glance
from grader.services.rescoring import publication
from grader.services.site import log
from grader.services.solutions import intake
from grader.services.teams import rosters
from grader.services.teams.waiting import Waiting
from webapp.competitions import home, prose
from webapp.competitions.competition_view import CompetitionView, Deadline
from webapp.http import lookups
from webapp.http.api import ending
from webapp.http.context import competition_of, reading, situation_in
from webapp.http.fields import Answer, Asked, Moment, Paged, PageSize, Search
from webapp.http.site import current_site
from webapp.surface import Access, Ask, Surface, query_of

GROUPS = {
    "open": "Running",
    "scheduled": "Soon",
    "draft": "Drafts",
    "closed": "Over",
    "revealed": "Over",
    "archived": "Archived",
}
SAMPLE_LINES = 4
FEWEST_TEAMS = 3  # on the leaderboard of the front page
blueprint = Blueprint("competitions", __name__)
PUBLIC = Surface(blueprint, tag="competitions", role=Access.PUBLIC)
KEPT_SECONDS = 86_400  # browser cache lifetime; changed figures get new URLs


@dataclass(frozen=True, slots=True)
class Card:
    """A competition in the list; the last three values refer to the viewer and their team."""

    competition: CompetitionView
    figures: Glance
    deadline: Deadline | None
    own_team: Team | None
    rank: int | None
    waiting: tuple[Waiting, ...]


def living_board(session: Any, cards: Iterable[Card], now: datetime) -> dict[str, Any] | None:
    """Return the top of the largest running leaderboard."""
    running = [card for card in cards if card.competition.is_open]
    card = max(running, key=lambda each: each.figures.team_count, default=None)
    if card is None or card.figures.team_count < FEWEST_TEAMS:
        return None
    competition = card.competition.row
    keep = lookups.keep(competition, now)
    board = glance.of(session, competition=competition, team=None, now=now, keep=keep)
    return {"competition": card.competition, "top": board.top} if board.top else None


def cards_of(session: Any, competitions: Sequence[Competition], now: datetime) -> list[Card]:
    """Return the cards of a page, using a constant number of queries."""
    figures = glance.figures(session, competitions=competitions, now=now)
    teams = rosters.teams_of(session, user=g.user) if g.user is not None else {}
    ids = {each: team.id for each, team in teams.items()}
    ranks = glance.own_ranks(session, competitions=competitions, team_ids=ids, now=now)
    views = {each.id: CompetitionView(each, now) for each in competitions}
    items = lookups.open_requests()
    return [
        Card(
            competition=views[each.id],
            figures=figures[each.id],
            deadline=views[each.id].deadline(teams.get(each.id)),
            own_team=teams.get(each.id),
            rank=ranks.get(each.id),
            waiting=tuple(item for item in items if item.competition == each.slug),
        )
        for each in competitions
    ]


class IndexQuery(Paged):
    """The requested page of the competitions, and words to search for."""

    q: Search = ""


@blueprint.get("/")
@blueprint.get("/competitions", alias=True)
def index() -> ResponseReturnValue:
    """List the competitions, open ones first, or those that match a search."""
    query = query_of(IndexQuery)
    number, search = query.page, query.q
    with reading() as session:
        now = db.now(session)
        page = lookups.listed_page(session, page=number, now=now, search=search)
        cards = cards_of(session, page.rows, now)
        may_create = g.user is not None and drafts.may_create(session, user=g.user)
        is_front = g.user is None and number == 1 and not search
        living = living_board(session, cards, now) if is_front else None
    return render_template(
        "competitions/index.html",
        groups={
            name: list(each) for name, each in groupby(cards, key=lambda card: GROUPS[card.competition.state])
        },
        may_create=may_create,
        page=page,
        search=search,
        is_front=is_front,
        living=living,
    )


@blueprint.get("/competitions/<slug>")
def show(slug: str) -> ResponseReturnValue:
    """Show a competition's Home page."""
    return lookups.for_visitors(slug, lambda: _home(slug))


def _home(slug: str) -> str:
    with reading() as session:
        own = situation_in(session, slug) if g.user is not None else None
        competition = own.competition if own else competition_of(session, slug)
        now = own.now if own else db.now(session)
        view = CompetitionView(competition, now)
        posted = announcements.shown(session, competition=competition)
        content = home.read(session, competition, view, own, now)
        overview = prose.stored(competition, slug, competition.overview)
    return render_template(
        "competitions/show.html",
        competition=view,
        home=content,
        metric=view.metric,
        overview=overview,
        rescored=publication.news(competition),
        announcements=[(each, prose.stored(each, slug, each.body)) for each in posted],
    )


@PUBLIC.read(
    "/competitions/<slug>/evaluation", None, endpoint="evaluation", page="competitions/evaluation.html"
)
def evaluation(ask: Ask) -> Any:
    """Show a competition's Evaluation page."""
    competition, view = ask.competition, ask.competition_view
    metric = view.metric
    source = metric.settings.source
    return {
        "metric": metric,
        "source": current_site().storage.read(source).decode(errors="replace") if source else "",
        "sample": first_lines(competition) if view.has_solution else "",
        "text": prose.stored(competition, competition.slug, competition.evaluation),
        "other_labels": intake.other_labels(ask.session, competition_id=competition.id),
    }


def first_lines(competition: Competition) -> str:
    """Return the first lines of the sample submission."""
    digest = lookup.live(competition).solution.sample_submission_sha256
    with current_site().storage.open(digest) as sample:
        return "".join(sample.readline(200).decode(errors="replace") for _ in range(SAMPLE_LINES))


@blueprint.get("/competitions/<slug>/figures/<name>")
def figure(slug: str, name: str) -> Response:
    """Send a figure with the media type that was detected when it was checked."""
    site = current_site()
    with reading() as session:
        competition = competition_of(session, slug)
        stored = figures.get(session, competition=competition, name=name)
    answer = send_file(site.storage.open(stored.sha256), mimetype=stored.media_type, etag=stored.sha256)
    answer.cache_control.private = True
    answer.cache_control.max_age = KEPT_SECONDS if "version" in request.args else 0
    return answer


class LogEntry(Answer):
    """An organizer's action in the public log."""

    at: Moment
    text: str


class PublicLog(Answer):
    """A page of a competition's public log."""

    entries: list[LogEntry]
    page_size: PageSize
    next: str | None


@PUBLIC.read("/competitions/<slug>/log", PublicLog, endpoint="public_log", page="competitions/log.html")
def public_log(ask: Ask, query: Asked) -> PublicLog:
    """List organizers' actions that change standings, deadlines or rules, newest first."""
    logged = log.public_slice(ask.session, competition=ask.competition, part=query.part)
    entries = [LogEntry(at=entry.at, text=text) for entry, text in logged.rows]
    return PublicLog(entries=entries, **ending(logged))
