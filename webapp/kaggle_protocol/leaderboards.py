"""Kaggle protocol: leaderboard display and download, and a team's public submissions."""

import hashlib
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

from flask import Response, g
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Competition, Split
from grader.services.competitions import phases
from grader.services.leaderboards import score_history
from grader.services.leaderboards.board import Board, BoardRequest, ShownRow, board_of
from grader.services.teams import rosters
from grader.text import csv_lines
from grader.visibility import Phase
from webapp.http import lookups, responses
from webapp.http.context import competition_of, reading
from webapp.kaggle_protocol.protocol import (
    COMPETITIONS,
    SentFields,
    asked_paging,
    call,
    next_token,
    time_text,
)
from webapp.kaggle_protocol.signed_files import offer, sender

PAGE_SIZE = 50
WHOLE = 10**9
COLUMNS = (
    "Rank",
    "TeamId",
    "TeamName",
    "LastSubmissionDate",
    "Score",
    "SubmissionCount",
    "TeamMemberUserNames",
)


@call(COMPETITIONS, "GetLeaderboard")
def get_leaderboard(sent: SentFields) -> ResponseReturnValue:
    """Return a page of the public leaderboard (after the reveal, the private one), without benchmarks."""
    page, size = asked_paging(sent, usual_size=PAGE_SIZE)
    with reading() as session:
        competition = competition_of(session, sent.text("competitionName"))
        board = _board(session, competition, BoardRequest(page=page, page_size=size))
    listed = [
        {
            "teamId": row.team_id,
            "teamName": row.team,
            "submissionDate": time_text(row.last_submitted_at),
            "score": row.score,
        }
        for row in _teams(board)
    ]
    return {"submissions": listed, "nextPageToken": next_token(board.page, board.page_count)}


@call(COMPETITIONS, "DownloadLeaderboard")
def download_leaderboard(sent: SentFields) -> ResponseReturnValue:
    """Redirect to the whole leaderboard as CSV in a ZIP file."""
    with reading() as session:
        competition = competition_of(session, sent.text("competitionName"))
        _board(session, competition, BoardRequest(page_size=1))
    return offer("leaderboard", competition, f"{competition.slug}.zip")


@sender("leaderboard")
def send_leaderboard(session: Any, competition: Competition, name: str, _: str) -> Callable[[], Response]:
    """Send the current leaderboard."""
    keep = lookups.keep(session, competition, db.now(session))
    packed, newest = keep("zip", lambda: _zipped(session, competition))
    etag = hashlib.sha256(packed).hexdigest()
    return lambda: responses.send(BytesIO(packed), name=name, etag=etag, modified=newest)


@call(COMPETITIONS, "ListTeamPublicSubmissions")
def list_team_public_submissions(sent: SentFields) -> ResponseReturnValue:
    """Return a team's best public scores over time, with submission ids only for the user's own team."""
    with reading() as session:
        team, submissions = score_history.ranked_team(session, team_id=sent.number("teamId") or 0)
        competition = competition_of(session, submissions.slug)
        own = rosters.find_team(session, competition=competition, user=g.user)
        (steps,) = score_history.of_teams(session, competition=competition, team_ids=[team.id])
        is_own = own is not None and own.id == team.id
        scale = submissions.scale
    return {
        "submissions": [
            {
                "id": step.submission_id if is_own else 0,
                "dateSubmitted": time_text(step.submitted_at),
                "publicScore": scale.text(step.score_units),
            }
            for step in steps.steps
        ]
    }


def _board(session: Any, competition: Competition, request: BoardRequest) -> Board:
    now = db.now(session)
    is_revealed = phases.phase(competition, now) is Phase.REVEALED
    return board_of(
        session,
        competition=competition,
        split=Split.PRIVATE if is_revealed else Split.PUBLIC,
        viewer=lookups.viewer(),
        now=now,
        request=request,
    )


def _zipped(session: Any, competition: Competition) -> tuple[bytes, datetime]:
    """Return a CSV file with Kaggle's columns, in a ZIP file with a fixed date, and its newest time."""
    board, packed = _board(session, competition, BoardRequest(page_size=WHOLE)), BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        name = f"{competition.slug}-{board.split.value}leaderboard.csv"
        archive.writestr(zipfile.ZipInfo(name), csv_lines([COLUMNS, *map(_cells, _teams(board))]))
    newest = max((row.last_submitted_at for row in board.rows), default=competition.created_at)
    return packed.getvalue(), newest


def _teams(board: Board) -> list[ShownRow]:
    return [row for row in board.rows if not row.is_benchmark]


def _cells(row: ShownRow) -> tuple[str | int | None, ...]:
    last = f"{row.last_submitted_at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
    return row.rank, row.team_id, row.team, last, row.score, row.entry_count, ",".join(row.members)
