"""Kaggle protocol: downloads of data, submissions and leaderboards by signed URLs.

The kaggle command follows redirects without its token. A URL is bound to the API token, its owner, the
competition, the file and its version. It expires with the token, at the latest after 12 hours. Access rights
are checked again when the file is sent.
"""

import hashlib
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from io import BytesIO
from typing import Any

from flask import Response, g, redirect, request
from flask.typing import ResponseReturnValue
from itsdangerous import BadSignature

from grader import db
from grader.errors import ErrorKind, Refusal
from grader.models import Competition
from grader.services.identity import api_tokens
from grader.services.leaderboards.board import WHOLE, ShownRow
from grader.services.site.paging import page_of_list
from grader.services.solutions import data_files
from grader.services.solutions.data_files import SAMPLE_SUBMISSION
from grader.services.submissions import accepting
from grader.text import csv_lines
from webapp.competitions import downloads
from webapp.http import lookups, responses
from webapp.http.context import competition_of, reading
from webapp.http.site import signer
from webapp.kaggle_protocol.leaderboards import board_of, teams
from webapp.kaggle_protocol.protocol import Fields, address, blueprint, next_token, read, time_text
from webapp.kaggle_protocol.submissions import open_submission

PAGE_SIZE = 20
VALID = timedelta(hours=12)
SALT = "kaggle download"
COLUMNS = (
    "Rank",
    "TeamId",
    "TeamName",
    "LastSubmissionDate",
    "Score",
    "SubmissionCount",
    "TeamMemberUserNames",
)


@dataclass(frozen=True, slots=True)
class Download:
    """A file that the current user may download; a URL is valid for one `version`."""

    name: str
    version: str
    response: Callable[[], Response]


@read(
    "ListDataFiles",
    old=["GET /competitions/data/list/<slug>"],
    as_before=lambda answer: answer if {"pageSize", "pagesize"} & request.args.keys() else answer["files"],
)
def list_data_files(session: Any, sent: Fields) -> ResponseReturnValue:
    """Return a page of the data files, including the sample submission."""
    competition = competition_of(session, sent.competition_name)
    files = data_files.list_all(session, competition=competition)
    listed = [_line(file.name, file.size_bytes, file.uploaded_at) for file in files]
    if competition.live_scoring_version is not None:
        sample = downloads.sample(competition)
        listed.insert(0, _line(sample.name, sample.size_bytes, sample.created_at))
    part = page_of_list(listed, page=sent.page_number, page_size=sent.size(PAGE_SIZE))
    return {"files": list(part.rows), "nextPageToken": next_token(part.page, part.page_count)}


@read("DownloadDataFile", old=["GET /competitions/data/download/<slug>/<path:name>"])
def download_data_file(session: Any, sent: Fields) -> ResponseReturnValue:
    """Redirect to a file that the user may download."""
    return _offer(session, "file", sent.competition_name, sent.file_name)


@read("DownloadDataFiles", old=["GET /competitions/data/download-all/<slug>"])
def download_data_files(session: Any, sent: Fields) -> ResponseReturnValue:
    """Redirect to a ZIP file of all files that the user may download now."""
    return _offer(session, "files", sent.competition_name)


@read("DownloadLeaderboard", old=["GET /competitions/<slug>/leaderboard/download"])
def download_leaderboard(session: Any, sent: Fields) -> ResponseReturnValue:
    """Redirect to the whole leaderboard as CSV in a ZIP file."""
    return _offer(session, "leaderboard", sent.competition_name)


@read("DownloadSubmission")
def download_submission(session: Any, sent: Fields) -> ResponseReturnValue:
    """Redirect to a submission's original file."""
    slug = open_submission(session, sent.submission_id).submission.competition.slug
    return _offer(session, "submission", slug, str(sent.submission_id))


@blueprint.get("/downloads/<name>")
def signed_file(name: str) -> ResponseReturnValue:
    """Send a file for its signed URL if the user who requested the URL may still download it."""
    expired = Refusal(
        "link_expired",
        ErrorKind.GONE,
        "This download link or its API token has expired, or the file has changed. Start the download again.",
    )
    try:
        kind, token_id, user_id, slug, subject, signed_name, version = signer(SALT).loads(
            request.args.get("key", ""), max_age=int(VALID.total_seconds())
        )
    except (BadSignature, ValueError) as error:
        raise expired from error
    if signed_name != name:
        raise expired
    with reading() as session:
        g.token = api_tokens.get(session, token_id=token_id, now=db.now(session))
        if g.token is None or g.token.user_id != user_id:
            raise expired
        g.user = g.token.user
        download = FINDERS[kind](session, competition_of(session, slug), subject)
    if download.version != version:
        raise expired
    return download.response()


def _offer(session: Any, kind: str, slug: str, subject: str = "") -> ResponseReturnValue:
    """Return a redirect to a file's signed URL, which ends with the name of the saved file."""
    download = FINDERS[kind](session, competition_of(session, slug), subject)
    signed = [kind, g.token.id, g.user.id, slug, subject, download.name, download.version]
    return redirect(address("kaggle.signed_file", name=download.name, key=signer(SALT).dumps(signed)), 302)


def _stored(name: str, sha256: str, modified: datetime) -> Download:
    send = partial(responses.send_stored, sha256, name=name, modified=modified)
    return Download(name, sha256, send)


def _data_file(session: Any, competition: Competition, name: str) -> Download:
    version = competition.live_scoring_version
    if name == SAMPLE_SUBMISSION and version is not None:
        return _stored(name, version.solution.sample_submission_sha256, version.created_at)
    file = downloads.allowed_file(session, competition, name)
    return _stored(file.name, file.sha256, file.uploaded_at)


def _data_files(session: Any, competition: Competition, _: str) -> Download:
    files, name = downloads.with_sample(session, competition), f"{competition.slug}.zip"
    return Download(name, downloads.version_of(files), partial(downloads.zipped, files, name))


def _submission(session: Any, _: Competition, subject: str) -> Download:
    own = open_submission(session, int(subject)).submission
    accepting.require_file(own)
    return _stored(own.file_name.replace("/", "_"), own.sha256, own.submitted_at)


def _leaderboard(session: Any, competition: Competition, _: str) -> Download:
    """Return the current leaderboard, for which a URL stays valid when it changes."""
    keep = lookups.keep(competition, db.now(session))
    packed, newest = keep("zip", lambda: _zipped(session, competition))
    name, etag = f"{competition.slug}.zip", hashlib.sha256(packed).hexdigest()
    return Download(name, "", lambda: responses.send(BytesIO(packed), name=name, etag=etag, modified=newest))


def _zipped(session: Any, competition: Competition) -> tuple[bytes, datetime]:
    """Return a CSV file with Kaggle's columns, in a ZIP file with a fixed date, and its newest time."""
    board, packed = board_of(session, competition, WHOLE), BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        name = f"{competition.slug}-{board.split.value}leaderboard.csv"
        archive.writestr(zipfile.ZipInfo(name), csv_lines([COLUMNS, *map(_cells, teams(board))]))
    newest = max((row.last_submitted_at for row in board.rows), default=competition.created_at)
    return packed.getvalue(), newest


def _cells(row: ShownRow) -> tuple[str | int | None, ...]:
    last = f"{row.last_submitted_at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
    return row.rank, row.team_id, row.team, last, row.score, row.entry_count, ",".join(row.members)


def _line(name: str, size_bytes: int, created_at: datetime) -> dict[str, Any]:
    return {"name": name, "totalBytes": size_bytes, "creationDate": time_text(created_at), "ref": name}


# These functions find a file for the current user by the competition and a name or id.
FINDERS: dict[str, Callable[[Any, Competition, str], Download]] = {
    "file": _data_file,
    "files": _data_files,
    "leaderboard": _leaderboard,
    "submission": _submission,
}
