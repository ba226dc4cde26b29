"""Leaderboards (pages, CSV and API), team results, published rescorings."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from flask import Blueprint, Response, g, get_template_attribute, render_template, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import NotFound

from grader.charts.frontier import Cloud, labeled
from grader.models import Competition, Split, SubmissionStatus
from grader.services.closing import close
from grader.services.competitions import lookup, phases
from grader.services.competitions.phases import Stage
from grader.services.leaderboards import board as boards
from grader.services.leaderboards import ranks, score_history, submission_results, team_results
from grader.services.leaderboards.board import Board, BoardRequest, ShownRow, board_of
from grader.services.leaderboards.score_history import TermPoint
from grader.services.rescoring import publication
from grader.services.site.paging import PAGE_SIZE
from grader.services.teams import rosters
from grader.visibility import Phase
from webapp.competitions.competition_view import CompetitionView
from webapp.http import lookups
from webapp.http.context import competition_of, reading, time_of
from webapp.http.responses import conditional
from webapp.http.site import current_site
from webapp.leaderboards import api_models, rows_csv_and_charts
from webapp.leaderboards.api_models import (
    BoardPage,
    BoardQuery,
    CountedSubmission,
    LastRescoring,
    OwnResults,
    RescoredLine,
)
from webapp.leaderboards.rows_csv_and_charts import Bars, board_csv, columns, term_texts
from webapp.surface import Access, Ask, Surface, query_of

blueprint = Blueprint("leaderboards", __name__, url_prefix="/competitions/<slug>")
LEADERBOARDS = Surface(blueprint, tag="leaderboards", role=Access.PUBLIC)
PODIUM = 3


@LEADERBOARDS.read("/leaderboard/rows", BoardPage, endpoint="rows", api_path="/leaderboard")
def leaderboard(ask: Ask, query: BoardQuery) -> BoardPage:
    """Return a page of the public leaderboard, or of the private one with `split=private`."""
    wanted = query.asked(page_size=query.page_size)
    board = _board(ask.session, ask.competition, query.split, wanted, ask.now, own_team_id=g.team_id)
    following = None
    if board.page < board.page_count:
        kept: dict[str, Any] = {name: request.args[name] for name in request.args if name != "page"}
        following = url_for("api.leaderboard", slug=ask.competition.slug, **kept, page=board.page + 1)
    return api_models.board_page(board, page_size=query.page_size, next_page=following)


@LEADERBOARDS.read(
    "/leaderboard/private/<int:submission_id>",
    CountedSubmission,
    endpoint="counted",
    page="leaderboards/counted_submission.html",
)
def counted(ask: Ask, submission_id: int) -> CountedSubmission:
    """Return the scores of a team's counted submission on both splits, after the reveal."""
    session, competition = ask.session, ask.competition
    phase = phases.phase(competition, ask.now)
    submission = submission_results.get_counted(
        session,
        competition=competition,
        submission_id=submission_id,
        viewer=lookups.viewer(),
        phase=phase,
    )
    if ask.is_page:
        own = None
        if g.team_id is not None and phase is Phase.REVEALED:
            own = ranks.Standings(session, lookup.live(competition).id, Split.PRIVATE).entry_of(g.team_id)
        ask.shown |= {
            "is_own": submission.team_id == g.team_id,
            "own_counted_id": own.submission_id if own else None,
            "private": submission.results.get(Split.PRIVATE),
            "public": submission.results.get(Split.PUBLIC),
        }
    return api_models.counted_submission(submission)


@replace(LEADERBOARDS, role=Access.USER).read("/results", OwnResults)
def own_results(ask: Ask) -> OwnResults:
    """Return the team's results after the reveal: the scores of all files, the ranks and the counted file."""
    here: dict[str, Any] = {"session": ask.session, "competition": ask.competition}
    team, phase = rosters.require_team(**here, user=ask.user), phases.phase(ask.competition, ask.now)
    return OwnResults.model_validate(team_results.of_team(**here, team=team, phase=phase))


@LEADERBOARDS.read("/rescoring", LastRescoring, endpoint="rescored", page="leaderboards/rescored.html")
def last_rescoring(ask: Ask) -> LastRescoring:
    """Return the message of the last published rescoring and its effect on the team's scores."""
    session, competition = ask.session, ask.competition
    published = publication.latest(competition)
    if published is None:
        raise NotFound
    team = rosters.find_team(session, competition=competition, user=g.user) if g.user else None
    lines = (
        publication.scores_of_team(session, competition=competition, team=team, now=ask.now) if team else []
    )
    ask.shown |= {"team": team, "lines": lines}
    return LastRescoring.of(
        published,
        text=published.notice or published.reason,
        submissions=[
            RescoredLine.of(
                new.submission, submission_id=new.submission.id, before=old.score, after=new.score
            )
            for old, new in lines
        ],
    )


def _board(
    session: Any,
    competition: Competition,
    split: Split,
    wanted: BoardRequest,
    now: datetime,
    *,
    own_team_id: int | None = None,
) -> Board:
    """Return a page of a leaderboard with the parts visible to the current user and the row of their team."""
    return board_of(
        session,
        competition=competition,
        split=split,
        phase=phases.phase(competition, now),
        viewer=lookups.viewer(),
        request=wanted,
        own_team_id=own_team_id,
        keep=lookups.keep(competition, now),
    )


@blueprint.get("/leaderboard", endpoint="public", defaults={"split": Split.PUBLIC})
@blueprint.get("/leaderboard/private", endpoint="private", defaults={"split": Split.PRIVATE})
def board_page(slug: str, split: Split) -> ResponseReturnValue:
    """Show a page of the public leaderboard or, after the reveal, of the private one."""
    return conditional(lookups.for_visitors(slug, lambda: _board_page(slug, split)))


def _board_page(slug: str, split: Split) -> str:
    with reading() as session:
        competition = competition_of(session, slug)
        now = time_of(session)
        view = CompetitionView(competition, now)
        own_id: int | None = g.team_id
        wanted = query_of(BoardQuery).asked()
        board = _board(session, competition, split, wanted, now, own_team_id=own_id)
        steps = _steps(session, competition, board, own_id, now) if board.is_start else ""
        has_cloud = board.is_start and rows_csv_and_charts.has_frontier(board)
        cloud = _frontier(session, view, board, own_id, now) if has_cloud else ""
        stage = phases.stage(competition, now)
        pending_count = 0
        if stage is Stage.CLOSED:
            pending = SubmissionStatus.PENDING
            pending_count = close.unscored(session, competition=competition, status=pending)
        bars = Bars(board)
        keep = lookups.keep(competition, now)
        # A row takes a tenth of a millisecond, so teams share the rows of a page.
        shared = tuple((row.rank, row.submission_id) for row in board.shared)
        key = "lines", split, wanted, shared
        lines = list(keep(key, lambda: [_line(slug, board, bars, row) for row in board.shared]))
        for place, row in enumerate(board.rows):
            if row.team_id == own_id and not row.is_benchmark:
                lines[place] = _line(slug, board, bars, row, is_own=True)
    terms = board.about.terms if board.has_terms else ()
    ranked = [row for row in board.rows if row.rank]
    own = next((row for row in (*ranked, board.pinned) if row and row.team_id == own_id), None)
    is_final = split is Split.PRIVATE and view.is_revealed and board.is_plain and board.page == 1
    return render_template(
        "leaderboards/show.html",
        competition=view,
        board=board,
        lines=lines,
        pinned=board.pinned and _line(slug, board, bars, board.pinned, is_own=True),
        terms=terms,
        columns=columns(board, terms),
        own=own,
        own_page=own and own.rank and (own.rank - 1) // PAGE_SIZE + 1,
        podium=ranked[:PODIUM] if is_final else [],
        query=_query(board),
        stage=stage.value,
        pending_count=pending_count,
        steps=steps,
        frontier=cloud,
    )


def _query(board: Board) -> dict[str, str]:
    """Return the query parameters that links to the leaderboard's other pages keep."""
    asked = board.request
    kept = {"q": asked.search, "division": asked.division, "board": asked.board}
    if asked.sort != boards.Sort.RANK or board.is_descending:
        kept |= {"sort": asked.sort, "order": "desc" if board.is_descending else "asc"}
    return {name: value for name, value in kept.items() if value}


def _line(slug: str, board: Board, bars: Bars, row: ShownRow, *, is_own: bool = False) -> str:
    """Return the HTML of a row."""
    line: Callable[..., str] = get_template_attribute("leaderboards/rows.html", "line")
    return line(row, bars, board, slug, partial(term_texts, board=board), is_own)


def _chart_html(name: str, chart: dict[str, Any] | None, *arguments: Any) -> str:
    """Return the HTML of a chart with its table, made by a macro; empty without a chart."""
    macro: Callable[..., str] = get_template_attribute("leaderboards/links_and_charts.html", name)
    return macro(chart, *arguments) if chart else ""


def _steps(
    session: Any, competition: Competition, board: Board, own_team_id: int | None, now: datetime
) -> str:
    """Return the step chart of a public leaderboard; viewers whose team is not among its teams share one."""
    top = rows_csv_and_charts.top(board, own_team_id=own_team_id)
    if board.split is Split.PRIVATE or not top:
        return ""
    ids, keep = [row.team_id for row in top], lookups.keep(competition, now)
    own_id = own_team_id if own_team_id in ids else None
    end = min(now, competition.closes_at) if competition.closes_at else now

    def draw() -> str:
        histories = score_history.of_teams(session, competition=competition, team_ids=ids)
        chart = rows_csv_and_charts.steps(top, histories, board, own_team_id=own_id, end=end)
        return _chart_html("step_chart", chart, board.scale)

    return keep(("steps", *ids, own_id), draw)


def _frontier(
    session: Any, view: CompetitionView, board: Board, own_team_id: int | None, now: datetime
) -> str:
    """Return the chart of accuracy and fairness of all teams; viewers without a rank share one."""
    competition: Competition = view.row
    keep, split = lookups.keep(competition, now), board.split
    # The plot of 10,000 teams takes about 0.25 s, so it is kept as long as the scores and ranks are the same.
    version = keep("version", lambda: ranks.version(session, competition=competition))

    def plotted() -> tuple[list[TermPoint], Cloud | None]:
        points = score_history.terms_of_board(session, competition=competition, split=split)
        return points, rows_csv_and_charts.plotted(points, lookup.live(competition))

    points, cloud = current_site().charts.get((competition.id, split, version), plotted)
    if cloud is None:
        return ""
    own = next((place for place, each in enumerate(points) if each.team_id == own_team_id), None)
    own_id = None if own is None else own_team_id

    def draw() -> str:
        named = {place: points[place] for place in sorted(labeled(cloud, own))}
        names = score_history.names(
            session,
            competition=competition,
            team_ids=[each.team_id for each in named.values()],
            viewer=lookups.viewer(),
            own_team_id=own_id,
        )
        chart = rows_csv_and_charts.frontier(cloud, named, names, own=own)
        return _chart_html("frontier_chart", chart, board.scale, view.has_identities)

    return keep(("frontier", split, version, own_id), draw)


@blueprint.get("/leaderboard.csv", endpoint="public_csv", defaults={"split": Split.PUBLIC})
@blueprint.get("/leaderboard/private.csv", endpoint="private_csv", defaults={"split": Split.PRIVATE})
def board_file(slug: str, split: Split) -> ResponseReturnValue:
    """Download the whole public leaderboard or, after the reveal, the private one."""
    query = query_of(BoardQuery)
    with reading() as session:
        competition, now = competition_of(session, slug), time_of(session)
        whole = replace(boards.WHOLE, division=query.division, board=query.board)
        if split is Split.PRIVATE:
            boards.require_private(competition, viewer=lookups.viewer(), phase=phases.phase(competition, now))
        keep = lookups.keep(competition, now)
        text = keep(("csv", split, whole), lambda: board_csv(_board(session, competition, split, whole, now)))
    response = Response(text, mimetype="text/csv")
    name = f"{slug}-{split.value}-leaderboard{f'-{whole.board}' if whole.board else ''}.csv"
    response.headers.set("Content-Disposition", "attachment", filename=name)
    return conditional(response)
