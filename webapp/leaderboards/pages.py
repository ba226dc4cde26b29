"""Leaderboard pages: public, private, CSV, team results, published rescorings."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from flask import Blueprint, Response, abort, g, get_template_attribute, jsonify, render_template
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Competition, Split
from grader.services.closing import close
from grader.services.competitions import lookup, phases
from grader.services.competitions.phases import Stage
from grader.services.leaderboards import board as boards
from grader.services.leaderboards import glance, ranks, score_history, team_results
from grader.services.leaderboards.board import Board, BoardRequest, ShownRow
from grader.services.leaderboards.submission_results import CountedEntry
from grader.services.rescoring import mail
from grader.services.teams import rosters
from grader.visibility import Field, Viewer, visible
from webapp.competitions.views import CompetitionView
from webapp.http import auth, lookups
from webapp.http.caches import frontier
from webapp.http.context import competition_of, reading
from webapp.http.parameters import asked_text
from webapp.http.responses import conditional
from webapp.http.site import current_site
from webapp.leaderboards import charts, requests
from webapp.leaderboards.views import BoardView, ResultsView, board_csv
from webapp.presentation import formats
from webapp.presentation.terms import IDENTITY_TERMS

blueprint = Blueprint("leaderboards", __name__, url_prefix="/competitions/<slug>")
WHOLE = 10**9


class CountedView:
    """The submission behind a row of the private leaderboard."""

    def __init__(self, counted: CountedEntry, *, own_team_id: int | None) -> None:
        self.submission_id = counted.submission_id
        self.team = counted.team
        self.is_own = counted.team_id == own_team_id
        self.place = f"{formats.ordinal(counted.rank)} of {counted.team_count:,}"
        self.public = counted.results.get(Split.PUBLIC)
        self.private = counted.results.get(Split.PRIVATE)


def stage_sentence(competition: Competition, stage: Stage, *, pending_count: int) -> str:
    """Return the public sentence about the state of the private leaderboard; may be empty."""
    match stage:
        case Stage.RUNNING:
            return _until(competition.reveals_at)
        case Stage.CLOSED:
            if pending_count:
                left = formats.counted(pending_count, "submission")
                verb = "is" if pending_count == 1 else "are"
                return f"Closed. {left} accepted in time {verb} still being scored and will count. " + _until(
                    competition.reveals_at
                )
            return "Closed. " + _until(competition.reveals_at)
        case Stage.SETTLED:
            return "Closed. All submissions accepted in time have been processed. " + _until(
                competition.reveals_at
            )
        case Stage.REVEALED:
            return ""


def _until(reveals_at: datetime | None) -> str:
    if reveals_at is None:
        return ""
    return (
        "The organizers will reveal the private leaderboard. If they do not, it is revealed automatically on "
        f"{formats.moment(reveals_at)}, or later when all submissions are scored."
    )


@blueprint.get("/leaderboard")
def public(slug: str) -> ResponseReturnValue:
    """Show a page of the public leaderboard."""
    return conditional(lookups.for_visitors(slug, lambda: _board_page(slug, Split.PUBLIC)))


@blueprint.get("/leaderboard/version")
def version(slug: str) -> ResponseReturnValue:
    """Return the leaderboard's version and its number of entries as JSON, for polling."""
    with reading() as session:
        competition = competition_of(session, slug)
        now = db.now(session)
        phase = phases.phase(competition, now)
        is_shown = visible(Field.PUBLIC_RANK, lookups.viewer(), phase, competition.feedback)
        keep = lookups.keep(session, competition, now)
        entries = (
            keep("entries", lambda: glance.count_entries(session, competition=competition))
            if is_shown
            else None
        )
        version = keep("version", lambda: ranks.version(session, competition=competition))
        numbers = {"version": version, "entries": entries}
    return conditional(jsonify(numbers))


@blueprint.get("/leaderboard/private")
def private(slug: str) -> ResponseReturnValue:
    """Show a page of the private leaderboard, after the reveal."""
    return conditional(lookups.for_visitors(slug, lambda: _board_page(slug, Split.PRIVATE)))


@blueprint.get("/leaderboard/private/<int:submission_id>")
def counted(slug: str, submission_id: int) -> ResponseReturnValue:
    """Show the results of a team's counted submission on both splits, after the reveal."""
    with reading() as session:
        competition = competition_of(session, slug)
        view = CompetitionView(competition, db.now(session))
        team = rosters.find_team(session, competition=competition, user=g.user) if g.user else None
        submission = requests.counted(session, competition, submission_id)
        own = None
        if team is not None and view.is_revealed:
            standings = ranks.Standings(session, lookup.live(competition).id, Split.PRIVATE)
            own = standings.entry_of(team.id)
    return conditional(
        render_template(
            "leaderboards/counted_submission.html",
            competition=view,
            submission=CountedView(submission, own_team_id=team.id if team else None),
            own_counted_id=own.submission_id if own else None,
            identity_terms=IDENTITY_TERMS,
        )
    )


@blueprint.get("/leaderboard.csv")
def public_csv(slug: str) -> ResponseReturnValue:
    """Download the whole public leaderboard."""
    return conditional(_csv(slug, Split.PUBLIC))


@blueprint.get("/leaderboard/private.csv")
def private_csv(slug: str) -> ResponseReturnValue:
    """Download the whole private leaderboard, after the reveal."""
    return conditional(_csv(slug, Split.PRIVATE))


@blueprint.get("/results")
@auth.login_required
def results(slug: str) -> ResponseReturnValue:
    """Show the team's results after the reveal: the scores of all files, the counted file and the reason."""
    with reading() as session:
        competition = competition_of(session, slug)
        now = db.now(session)
        view = CompetitionView(competition, now)
        team = rosters.find_team(session, competition=competition, user=g.user)
        own = team and team_results.of_team(
            session, competition=competition, team=team, phase=view.phase, viewer=Viewer.TEAM
        )
        stage = phases.stage(competition, now)
    if own is None and not view.is_revealed:
        raise boards.BoardNotRevealed
    return render_template(
        "leaderboards/results.html",
        competition=view,
        results=own and ResultsView(own),
        award_id=team.id if team and own and own.rank else None,
        stage=stage_sentence(competition, stage, pending_count=0),
    )


def _board_page(slug: str, split: Split) -> str:
    with reading() as session:
        competition = competition_of(session, slug)
        now = db.now(session)
        view = CompetitionView(competition, now)
        team = rosters.find_team(session, competition=competition, user=g.user) if g.user else None
        own_team_id = team.id if team else None
        wanted = requests.asked_lines(competition, own_team_id=own_team_id)
        board = requests.board(session, competition, split, wanted, now=now)
        is_first = charts.is_first(board, wanted)
        steps = _steps(session, competition, board, own_team_id, now) if is_first else None
        has_cloud = is_first and charts.has_frontier(board)
        cloud = _frontier(session, competition, board, own_team_id, now) if has_cloud else None
        stage = phases.stage(competition, now)
        pending_count = close.count_pending(session, competition=competition) if stage is Stage.CLOSED else 0
        shown = BoardView(
            board, wanted, own_team_id=own_team_id, classes=competition, is_revealed=view.is_revealed
        )
        keep = lookups.keep(session, competition, now)
        # A row takes a tenth of a millisecond, so teams share the rows of a page.
        rows = tuple((row.rank, row.submission_id) for row in board.shared)
        key = "lines", split, replace(wanted, own_team_id=None), rows
        lines = list(keep(key, lambda: [_line(slug, shown, row) for row in board.shared]))
        for place, row in enumerate(board.rows):
            if row.team_id == own_team_id and not row.is_benchmark:
                lines[place] = _line(slug, shown, row, is_own=True)
    return render_template(
        "leaderboards/show.html",
        competition=view,
        board=shown,
        lines=lines,
        named=board.named,
        hidden=board.hidden,
        is_running=stage is Stage.RUNNING,
        stage=stage_sentence(competition, stage, pending_count=pending_count),
        takes_late=split is Split.PRIVATE and competition.takes_late_submissions,
        steps=steps,
        frontier=cloud,
    )


def _line(slug: str, board: BoardView, row: ShownRow, *, is_own: bool = False) -> str:
    """Return the HTML of a row."""
    line: Callable[..., str] = get_template_attribute("leaderboards/rows.html", "line")
    shown = board.lines.row(row, is_own=is_own)
    return line(shown, slug, board.is_private, board.has_groups, board.division)


def _steps(
    session: Any, competition: Competition, board: Board, own_team_id: int | None, now: datetime
) -> charts.StepsView | None:
    """Return the step chart of a public leaderboard; viewers whose team is not among its teams share one."""
    top = charts.top(board, own_team_id=own_team_id)
    if board.split is Split.PRIVATE or not top:
        return None
    ids, keep = [row.team_id for row in top], lookups.keep(session, competition, now)

    def draw() -> charts.StepsView | None:
        sample = keep("sample", lambda: score_history.sample(session, competition=competition))
        return charts.steps(
            top,
            score_history.of_teams(session, competition=competition, team_ids=ids),
            [each for each in sample if each.team_id not in ids],
            team_count=board.team_count,
            own_team_id=own_team_id,
            until=competition.closes_at,
            now=now,
            scale=board.scale,
        )

    return keep(("steps", *ids, own_team_id if own_team_id in ids else None), draw)


def _frontier(
    session: Any, competition: Competition, board: Board, own_team_id: int | None, now: datetime
) -> charts.FrontierView | None:
    """Return the chart of accuracy and fairness of all teams; viewers without a rank share one."""
    keep, split = lookups.keep(session, competition, now), board.split
    # The plot of 10,000 teams takes about 0.25 s, so it is kept as long as the scores and ranks are the same.
    version = keep("version", lambda: ranks.version(session, competition=competition))
    points = current_site().charts.get(
        (competition.id, split, version),
        lambda: frontier(
            score_history.terms_of_board(session, competition=competition, split=split),
            lookup.live(competition),
        ),
    )
    own_id = own_team_id if points and points.place_of(own_team_id) is not None else None

    def draw() -> charts.FrontierView | None:
        named = [points.points[place].team_id for place in points.named(own_id)] if points else []
        names = score_history.names(
            session,
            competition=competition,
            team_ids=named,
            viewer=lookups.viewer(),
            own_team_id=own_id,
        )
        return charts.frontier(points, names, board, own_team_id=own_id)

    return keep(("frontier", split, version, own_id), draw)


def _csv(slug: str, split: Split) -> Response:
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        division, board = requests.asked_division(competition), asked_text("board")
        whole = BoardRequest(page_size=WHOLE, division=division, board=board)
        if split is Split.PRIVATE:
            phase = phases.phase(competition, now)
            boards.require_private(competition, viewer=lookups.viewer(), phase=phase)
        keep = lookups.keep(session, competition, now)
        text = keep(
            ("csv", split, division, board),
            lambda: board_csv(requests.board(session, competition, split, whole, now=now)),
        )
    response = Response(text, mimetype="text/csv")
    name = f"{competition.slug}-{split.value}-leaderboard{f'-{board}' if board else ''}.csv"
    response.headers.set("Content-Disposition", "attachment", filename=name)
    return response


@blueprint.get("/rescoring")
def rescored(slug: str) -> ResponseReturnValue:
    """Show the message of a rescoring and the team's public scores before and after it."""
    with reading() as session:
        competition = competition_of(session, slug)
        published = mail.latest(competition)
        if published is None:
            abort(404)
        team = rosters.find_team(session, competition=competition, user=g.user) if g.user else None
        lines = mail.of_team(session, competition=competition, team=team) if team else []
        view = CompetitionView(competition, db.now(session))
    return render_template(
        "leaderboards/rescored.html", competition=view, published=published, team=team, lines=lines
    )
