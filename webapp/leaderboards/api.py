"""API for public and private leaderboards."""

from dataclasses import replace
from typing import Any

from flask import g, request, url_for

from grader import db
from grader.models import Competition
from grader.services.competitions import phases
from grader.services.identity.api_tokens import Scope
from grader.services.leaderboards import team_results
from grader.services.leaderboards.board import BoardCursor, BoardRequest
from grader.services.teams import rosters
from grader.visibility import Viewer
from webapp.http.api import blueprint, operation
from webapp.http.context import competition_of, reading
from webapp.http.parameters import Unreadable
from webapp.leaderboards import answers, requests
from webapp.leaderboards.answers import (
    BoardPage,
    BoardQuery,
    CountedSubmission,
    OwnResults,
)

TAG = "leaderboards"


@blueprint.get("/competitions/<slug>/leaderboard")
@operation(None, answers=BoardPage, tag=TAG)
def leaderboard(slug: str, query: BoardQuery) -> BoardPage:
    """Return a page of the public leaderboard, or of the private one with `split=private`."""
    split = requests.asked_split()
    with reading() as session:
        competition = competition_of(session, slug)
        team = rosters.find_team(session, competition=competition, user=g.user) if g.user else None
        wanted = _asked(query, competition, own_team_id=team.id if team else None)
        now = db.now(session)
        board = requests.board(session, competition, split, wanted, now=now)
    address: dict[str, Any] = {"slug": slug, "split": split.value, "per_page": query.per_page}
    address |= {"division": wanted.division, "board": wanted.board or None}
    next_page = None
    if board.following is not None and query.page is None:
        next_page = url_for("api.leaderboard", **address, cursor=board.following.text())
    elif query.cursor is None and board.page < board.page_count:
        address |= {name: request.args[name] for name in ("sort", "order", "q") if name in request.args}
        next_page = url_for("api.leaderboard", **address, page=board.page + 1)
    return answers.board_page(board, page_size=query.page_size, next_page=next_page)


def _asked(query: BoardQuery, competition: Competition, *, own_team_id: int | None) -> BoardRequest:
    """Return the requested rows; a cursor continues in rank order."""
    wanted = replace(requests.asked_lines(competition, own_team_id=own_team_id), page_size=query.page_size)
    if query.cursor is None:
        return wanted
    if not wanted.is_plain or query.page is not None:
        raise Unreadable("cursor", query.cursor, "used without `page` and `q`, and only when sorting by rank")
    return replace(wanted, after=BoardCursor.of(query.cursor))


@blueprint.get("/competitions/<slug>/leaderboard/private/<int:submission_id>")
@operation(None, answers=CountedSubmission, tag=TAG)
def counted(slug: str, submission_id: int) -> CountedSubmission:
    """Return the scores of a team's counted submission on both splits, after the reveal."""
    with reading() as session:
        competition = competition_of(session, slug)
        submission = requests.counted(session, competition, submission_id)
    return answers.counted_submission(submission)


@blueprint.get("/competitions/<slug>/results")
@operation(Scope.READ, answers=OwnResults, tag=TAG)
def own_results(slug: str) -> OwnResults:
    """Return the team's results after the reveal: the scores of all files, the ranks and the counted file."""
    with reading() as session:
        competition = competition_of(session, slug)
        results = team_results.of_team(
            session,
            competition=competition,
            team=rosters.require_team(session, competition=competition, user=g.user),
            phase=phases.phase(competition, db.now(session)),
            viewer=Viewer.TEAM,
        )
    return OwnResults.model_validate(results)
