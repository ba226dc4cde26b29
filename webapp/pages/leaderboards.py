"""The public leaderboard, and after the reveal the final one."""

from flask import Blueprint, g, render_template, request
from flask.typing import ResponseReturnValue

from grader import db
from grader.leaderboard.visibility import Viewer
from grader.services import boards, competitions, submissions
from webapp.representations.board import BoardView
from webapp.representations.competition import CompetitionView
from webapp.representations.terms import TERMS
from webapp.site import current_site

blueprint = Blueprint("leaderboards", __name__)


@blueprint.get("/competitions/<slug>/leaderboard")
def public(slug: str) -> ResponseReturnValue:
    """Show a page of the public leaderboard."""
    return _board_page(slug, is_private=False)


@blueprint.get("/competitions/<slug>/leaderboard/private")
def private(slug: str) -> ResponseReturnValue:
    """Show a page of the private leaderboard, after the reveal."""
    return _board_page(slug, is_private=True)


def _board_page(slug: str, *, is_private: bool) -> str:
    page = request.args.get("page", 1, type=int)
    with current_site().database.read() as session:
        competition = competitions.get(session, slug=slug)
        view = CompetitionView(competition, db.now(session))
        if is_private:
            viewer = Viewer.PARTICIPANT if g.user else Viewer.PUBLIC
            board = boards.private_board(
                session, competition=competition, phase=view.phase, viewer=viewer, page=page
            )
        else:
            board = boards.public_board(session, competition=competition, page=page)
        team = submissions.find_team(session, competition=competition, user=g.user) if g.user else None
    return render_template(
        "leaderboards/show.html",
        competition=view,
        board=BoardView(board, is_revealed=view.is_revealed, own_team_id=team.id if team else None),
        terms=TERMS,
    )
