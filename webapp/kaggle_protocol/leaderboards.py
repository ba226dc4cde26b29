"""Kaggle protocol: leaderboard, and a team's public submissions."""

from typing import Any

from flask import g
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Competition, Split
from grader.services.competitions import phases
from grader.services.leaderboards import board as boards
from grader.services.leaderboards import score_history
from grader.services.leaderboards.board import Board, BoardRequest, ShownRow
from grader.services.teams import rosters
from grader.visibility import Phase
from webapp.http import lookups
from webapp.http.context import competition_of
from webapp.kaggle_protocol.protocol import Fields, next_token, read, time_text

PAGE_SIZE = 50


@read("GetLeaderboard", old=["GET /competitions/<slug>/leaderboard/view"])
def get_leaderboard(session: Any, sent: Fields) -> ResponseReturnValue:
    """Return a page of the public leaderboard (after the reveal, the private one), without benchmarks."""
    competition = competition_of(session, sent.competition_name)
    request = BoardRequest(page=sent.page_number, page_size=sent.size(PAGE_SIZE))
    board = board_of(session, competition, request)
    listed = [
        {
            "teamId": row.team_id,
            "teamName": row.team,
            "submissionDate": time_text(row.last_submitted_at),
            "score": row.score,
        }
        for row in teams(board)
    ]
    return {"submissions": listed, "nextPageToken": next_token(board.page, board.page_count)}


@read("ListTeamPublicSubmissions")
def list_team_public_submissions(session: Any, sent: Fields) -> ResponseReturnValue:
    """Return a team's best public scores over time, with submission ids only for the user's own team."""
    team, submissions = score_history.ranked_team(session, team_id=sent.team_id)
    competition = competition_of(session, submissions.slug)
    own = rosters.find_team(session, competition=competition, user=g.user)
    steps = score_history.of_teams(session, competition=competition, team_ids=[team.id])[team.id]
    is_own = own is not None and own.id == team.id
    return {
        "submissions": [
            {
                "id": step.submission_id if is_own else 0,
                "dateSubmitted": time_text(step.submitted_at),
                "publicScore": submissions.scale.text(step.score_units),
            }
            for step in steps
        ]
    }


def board_of(session: Any, competition: Competition, request: BoardRequest) -> Board:
    """Return the public leaderboard or, after the reveal, the private one."""
    phase = phases.phase(competition, db.now(session))
    return boards.board_of(
        session,
        competition=competition,
        split=Split.PRIVATE if phase is Phase.REVEALED else Split.PUBLIC,
        phase=phase,
        viewer=lookups.viewer(),
        request=request,
    )


def teams(board: Board) -> list[ShownRow]:
    """Return the rows without benchmarks."""
    return [row for row in board.rows if not row.is_benchmark]
