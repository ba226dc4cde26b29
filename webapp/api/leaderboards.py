"""The leaderboards."""

from flask import request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.leaderboard.visibility import Viewer
from grader.models import Split
from grader.services import boards, competitions
from webapp.api.v1 import blueprint
from webapp.errors import BadRequest
from webapp.representations.board import board_json
from webapp.site import current_site


class UnknownSplit(BadRequest):
    """A leaderboard of neither split."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no split {name!r}: ask for `public`, or after the reveal for `private`.")


@blueprint.get("/competitions/<slug>/leaderboard")
def leaderboard(slug: str) -> ResponseReturnValue:
    """Return a page of the public leaderboard, or with `?split=private` of the private one."""
    split = _split(request.args.get("split", Split.PUBLIC.value))
    page = request.args.get("page", 1, type=int)
    with current_site().database.read() as session:
        competition = competitions.get(session, slug=slug)
        if split is Split.PUBLIC:
            board = boards.public_board(session, competition=competition, asked=boards.Asked(page=page))
        else:
            phase = competitions.phase(competition, db.now(session))
            board = boards.private_board(
                session,
                competition=competition,
                phase=phase,
                viewer=Viewer.PARTICIPANT,
                asked=boards.Asked(page=page),
            )
    next_page = None
    if board.page < board.page_count:
        next_page = url_for("api.leaderboard", slug=slug, split=split.value, page=board.page + 1)
    return board_json(board, next_page=next_page)


def _split(name: str) -> Split:
    try:
        return Split(name)
    except ValueError:
        raise UnknownSplit(name) from None
