"""Competition pages: list, Home, Evaluation, figures, public log."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from webapp.competitions import home, prose
from webapp.competitions.competition_view import CompetitionView, Deadline
from webapp.http import lookups
from webapp.http.api import ending
from webapp.http.context import competition_of, reading, situation_in
from webapp.http.fields import Answer, Asked, Moment, Paged, PageSize, Search
from webapp.http.site import current_site
from webapp.surface import Access, Ask, Surface

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
    """A competition in the list; the last two values refer to the viewer's team."""

    competition: CompetitionView
    figures: Glance
    deadline: Deadline | None
    own_team: Team | None
    rank: int | None


def cards_of(session: Any, competitions: Sequence[Competition], now: datetime) -> list[Card]:
    """Return the cards of a page, using a constant number of queries."""
    figures = glance.figures(session, competitions=competitions, now=now)
    teams = rosters.teams_of(session, user=g.user) if g.user is not None else {}
    ids = {each: team.id for each, team in teams.items()}
    ranks = glance.own_ranks(session, competitions=competitions, team_ids=ids, now=now)
    views = {each.id: CompetitionView(each, now) for each in competitions}
    return [
        Card(
            competition=views[each.id],
            figures=figures[each.id],
            deadline=views[each.id].deadline(teams.get(each.id)),
            own_team=teams.get(each.id),
            rank=ranks.get(each.id),
        )
        for each in competitions
    ]


def largest_running(ask: Ask, cards: Sequence[Card]) -> Card | None:
    """Return the card of the competition with the largest running leaderboard, with its top."""
    running = [each for each in cards if each.competition.is_open]
    largest = max(running, key=lambda each: each.figures.team_count, default=None)
    if largest is None or largest.figures.team_count < FEWEST_TEAMS:
        return None
    row = largest.competition.row
    board = glance.of(ask.session, competition=row, team=None, now=ask.now, keep=lookups.keep(row, ask.now))
    return replace(largest, figures=board) if board.top else None


class IndexQuery(Paged):
    """The requested page of the competitions, and words to search for."""

    q: Search = ""


@PUBLIC.read("/", None, endpoint="index", page="competitions/index.html")
def index(ask: Ask, query: IndexQuery) -> dict[str, Any]:
    """List the competitions, open ones first, or those that match a search."""
    page = lookups.listed_page(ask.session, page=query.page, now=ask.now, search=query.q)
    cards = cards_of(ask.session, page.rows, ask.now)
    is_front = ask.user is None and query.page == 1 and not query.q
    return {
        "groups": {
            name: list(each) for name, each in groupby(cards, key=lambda card: GROUPS[card.competition.state])
        },
        "may_create": ask.user is not None and drafts.may_create(ask.session, user=ask.user),
        "requests": lookups.open_requests(),
        "page": page,
        "search": query.q,
        "is_front": is_front,
        "largest": largest_running(ask, cards) if is_front else None,
    }


blueprint.add_url_rule("/competitions", "index", alias=True)


@blueprint.get("/competitions/<slug>")
def show(slug: str) -> ResponseReturnValue:
    """Show a competition's Home page."""
    return lookups.for_visitors(slug, lambda: _home(slug))


def _home(slug: str) -> str:
    with reading() as session:
        own = situation_in(session, slug) if g.user is not None else None
        competition = own.competition if own else competition_of(session, slug)
        view = CompetitionView(competition, own.now if own else db.now(session))
        posted = announcements.shown(session, competition=competition)
        content = home.read(session, view, own)
    return render_template(
        "competitions/show.html",
        competition=view,
        home=content,
        metric=view.metric,
        overview=prose.stored(competition, slug, competition.overview),
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


@PUBLIC.read("/competitions/<slug>/figures/<name>", None, endpoint="figure")
def figure(ask: Ask, name: str) -> Response:
    """Send a figure with the media type that was detected when it was checked."""
    stored = figures.get(ask.session, competition=ask.competition, name=name)
    content = current_site().storage.open(stored.sha256)
    answer = send_file(content, mimetype=stored.media_type, etag=stored.sha256)
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
