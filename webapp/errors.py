"""One translation of everything that goes wrong: a status, a name and a sentence, as JSON or as a page.

Errors of the grader carry data and a sentence; here they get their HTTP status. Whatever nobody foresaw is
logged under an incident id, and only that id is shown.
"""

import contextlib
import logging
import math
import re
import secrets
from typing import Any

from flask import Flask, current_app, g, render_template, request
from flask.globals import request_ctx
from flask.typing import ResponseReturnValue
from flask_wtf.csrf import CSRFError  # type: ignore[import-untyped]
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from grader import db, disk
from grader.errors import FairboardError, OrganizerError, ParticipantError
from grader.services import (
    accounts,
    announcements,
    boards,
    competitions,
    counted,
    data_files,
    data_release,
    diagnoses,
    disputes,
    exports,
    final_boards,
    guesses,
    hashing,
    invitations,
    limits,
    links,
    logins,
    mail_limits,
    mergers,
    moderation,
    organizer_jobs,
    organizers,
    participations,
    pauses,
    published_solutions,
    receipts,
    repeats,
    rescoring,
    rescoring_difference,
    rosters,
    selections,
    setup_links,
    submissions,
    team_search,
    tokens,
)
from grader.storage import BlobTooLarge, StorageUnavailable
from grader.worker.checker import ShareUsed
from webapp import formats

log = logging.getLogger(__name__)

SENTENCES = {
    400: "The request could not be understood.",
    401: "This needs a valid API token: send it as `Authorization: Bearer TOKEN`.",
    403: "You may not do this.",
    404: "There is nothing at this address.",
    405: "This address does not answer that method.",
    413: "The request is too large.",
    415: "This kind of content is not accepted here.",
    429: "More requests of this kind came from you or your address than are answered.",
}
HEADINGS = {
    400: "That did not work",
    401: "Please log in",
    403: "Not allowed",
    404: "Not found",
    410: "Not kept",
    413: "Too large",
    429: "A little slower, please",
    500: "Our fault",
    503: "One moment, please",
    507: "No space",
}
OUR_FAULT = "Something went wrong on our side. It is logged as incident {incident}; please try again later."
DISK_FULL = "No space is left on the server's disk: nothing was changed. The operators can see why."
DATABASE_AWAY = "The database does not answer at the moment. Please try again in some seconds."
OUTCOME_UNKNOWN = (
    f"{DATABASE_AWAY} Whether this request took effect is not known: look before you send it again. "
    "A file that is sent with an Idempotency-Key is taken once, however often it is sent."
)
STORAGE_AWAY = "The files of this site are out of reach at the moment. Please try again in some seconds."
RETRY_SECONDS = 5
FORM_EXPIRED = "This form was too old, or it came from another site. Go back, reload the page and try again."
DRAIN_LIMIT_BYTES = 256_000_000
KEPT_HEADERS = frozenset({"Allow", "Retry-After", "WWW-Authenticate"})


class BadRequest(ParticipantError):
    """A request without something it needs."""


class FileTooLarge(ParticipantError):
    """An upload over the limit of its competition."""

    def __init__(self, size_bytes: int | None, limit_bytes: int) -> None:
        found, limit = formats.size(size_bytes or 0), formats.size(limit_bytes)
        if found == limit:
            found, limit = f"{size_bytes:,} bytes", f"{limit_bytes:,} bytes"
        whose = f"The file is {found}" if size_bytes else "The file is too large"
        super().__init__(f"{whose}; the limit is {limit}.")


class LoginNeeded(ParticipantError):
    """A page for people who are logged in."""

    def __init__(self) -> None:
        super().__init__("Please log in first.")


WAITING = (limits.LimitReached, guesses.TooManyGuesses, mail_limits.TooMuchMail)
STATUSES: dict[type[FairboardError], int] = {
    OrganizerError: 409,
    LoginNeeded: 401,
    boards.NotRevealed: 403,
    boards.NotSettled: 403,
    final_boards.UnknownFinalBoard: 404,
    organizers.NotOrganizer: 403,
    rescoring.UnknownScoringVersion: 404,
    rescoring_difference.NothingToCompare: 404,
    data_files.UnknownDataFile: 404,
    data_files.DataNotOpen: 403,
    submissions.CompetitionArchived: 403,
    submissions.FileDeleted: 410,
    submissions.NothingToScore: 409,
    pauses.SubmissionsPaused: 403,
    disputes.AlreadyAsked: 409,
    disputes.TooManyOpen: 409,
    disputes.UnknownDispute: 404,
    announcements.UnknownAnnouncement: 404,
    exports.NothingToExport: 404,
    moderation.UnknownSubmissionHere: 404,
    team_search.UnknownTeamId: 404,
    submissions.CompetitionClosed: 403,
    submissions.CompetitionNotOpen: 403,
    setup_links.InvalidSetupLink: 404,
    links.InvalidLink: 404,
    logins.UnknownLogin: 404,
    tokens.UnknownToken: 404,
    tokens.ScopeMissing: 403,
    competitions.UnknownCompetition: 404,
    submissions.UnknownSubmission: 404,
    counted.NotCounted: 404,
    receipts.NoReceipt: 404,
    receipts.CommitmentPending: 503,
    data_release.BeingChecked: 503,
    data_release.NotHeld: 409,
    data_release.NotTyped: 422,
    published_solutions.SolutionNotPublished: 404,
    published_solutions.SolutionNotWritten: 503,
    organizer_jobs.UnknownOrganizerJob: 404,
    diagnoses.NoDiagnosis: 404,
    diagnoses.DiagnosisNotPublished: 404,
    accounts.UnknownUser: 404,
    participations.EntryRefused: 403,
    rosters.TeamRefusal: 409,
    rosters.NotLeader: 403,
    rosters.TeamsFrozen: 403,
    invitations.UnknownInvitation: 404,
    mergers.UnknownMergeRequest: 404,
    mergers.UnknownTeam: 404,
    repeats.IdenticalFile: 409,
    repeats.IdempotencyKeyReused: 422,
    selections.SelectionClosed: 403,
    selections.NotSelectable: 409,
    selections.TooManySelected: 409,
    limits.LimitReached: 429,
    guesses.TooManyGuesses: 429,
    mail_limits.TooMuchMail: 429,
    ShareUsed: 429,
    hashing.TooManyHashes: 503,
    FileTooLarge: 413,
    BlobTooLarge: 413,
    disk.NoSpace: 507,
}


def wants_json() -> bool:
    """Return whether the answer is for a program: everything of the API, and whoever prefers JSON to HTML."""
    if request.path.startswith("/api/") or request.path in ("/livez", "/healthz", "/readyz"):
        return True
    if request_ctx.url_adapter is None:
        return True  # asked by a name that is no host's: no page can be linked to, and no browser asks so
    accepted = request.accept_mimetypes
    return accepted.best_match(["text/html", "application/json"], default="text/html") == "application/json"


def name_of(error: Exception) -> str:
    """Return the name of an error in JSON: `CompetitionClosed` is `competition_closed`."""
    words = type(error).__name__.removesuffix("Error")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", words).lower()


def status_of(error: FairboardError) -> int:
    """Return the HTTP status of an error."""
    return next((STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES), 400)


def headers_of(error: FairboardError) -> dict[str, str]:
    """Return the headers that an error's answer needs: when to try again."""
    if isinstance(error, hashing.TooManyHashes | ShareUsed):
        return {"Retry-After": str(error.retry_seconds)}
    if isinstance(error, WAITING) and error.retry_after is not None:
        return {"Retry-After": str(math.ceil(error.retry_after.total_seconds()))}
    return {}


def details_of(error: FairboardError) -> dict[str, Any]:
    """Return what programs need of an error beside its sentence."""
    match error:
        case limits.DailyLimitReached():
            retry_at = formats.iso(error.retry_at)
            return {"limit": error.limit, "retry_at": retry_at, "resets_at": retry_at}
        case limits.LimitReached():
            return {"limit": error.limit, "retry_at": formats.iso(error.retry_at)}
        case repeats.IdenticalFile() | repeats.IdempotencyKeyReused():
            return {"submission": error.submission_id}
        case selections.TooManySelected():
            return {"limit": error.limit, "selected": list(error.selected_ids)}
    return {}


def answer(
    status: int, *, name: str, message: str, headers: dict[str, str] | None = None, **extra: Any
) -> ResponseReturnValue:
    """Return the answer to a request that went wrong, in the shape its sender reads."""
    if wants_json():
        return {"code": status, "error": name, "message": message, **extra}, status, headers or {}
    heading = HEADINGS.get(status, HEADINGS[400])
    page = render_template("error.html", status=status, heading=heading, message=message)
    return page, status, headers or {}


def init_app(app: Flask) -> None:
    """Answer every error of the application."""
    app.register_error_handler(FairboardError, _fairboard_error)
    app.register_error_handler(RequestEntityTooLarge, _too_large)
    app.register_error_handler(CSRFError, _foreign_form)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Exception, _unforeseen)


def _fairboard_error(error: FairboardError) -> ResponseReturnValue:
    if not isinstance(error, ParticipantError) and g.get("organizer_role") is None:
        return _unforeseen(error)  # it may quote the solution
    status = status_of(error)
    if status in (413, 507):
        _drain()
    return answer(
        status,
        name=name_of(error),
        message=error.message,
        headers=headers_of(error),
        **details_of(error),
    )


def _too_large(_error: RequestEntityTooLarge) -> ResponseReturnValue:
    limit = g.get("file_limit_bytes") or current_app.config["MAX_CONTENT_LENGTH"]
    return _fairboard_error(FileTooLarge(request.content_length, limit))


def _foreign_form(_error: CSRFError) -> ResponseReturnValue:
    return answer(403, name="form_expired", message=FORM_EXPIRED)


def _http_error(error: HTTPException) -> ResponseReturnValue:
    status = error.code or 500
    if status < 400:
        return error
    headers = {name: value for name, value in error.get_headers() if name in KEPT_HEADERS}
    name = re.sub(r"\W+", "_", error.name.lower())
    message = SENTENCES.get(status, error.name + ".")
    if status == 429 and (seconds := g.get("retry_seconds")):
        headers["Retry-After"] = str(seconds)
        wait = (
            f"{seconds} second{'s' if seconds > 1 else ''}"
            if seconds < 120
            else f"{-(-seconds // 60)} minutes"
        )
        message = f"{message} Please try again in {wait}."
    return answer(status, name=name, message=message, headers=headers)


def _disk_full(error: Exception) -> ResponseReturnValue:
    log.error("The disk is full: %s: %s", _request(), error)
    if "file_limit_bytes" in g:
        return _fairboard_error(disk.NoSpace())
    return answer(507, name="no_space", message=DISK_FULL)


def _database_away(error: Exception) -> ResponseReturnValue:
    log.error("The database does not answer: %s: %s", _request(), error)
    message = DATABASE_AWAY if request.method in ("GET", "HEAD") else OUTCOME_UNKNOWN
    headers = {"Retry-After": str(RETRY_SECONDS)}
    return answer(503, name="database_unavailable", message=message, headers=headers)


def _storage_away(error: Exception) -> ResponseReturnValue:
    log.error("The storage does not answer: %s: %s", _request(), error)
    headers = {"Retry-After": str(RETRY_SECONDS)}
    return answer(503, name="storage_unavailable", message=STORAGE_AWAY, headers=headers)


def _unforeseen(error: Exception) -> ResponseReturnValue:
    if disk.is_full(error):
        return _disk_full(error)
    if db.is_unavailable(error):
        return _database_away(error)
    if isinstance(error, StorageUnavailable):
        return _storage_away(error)
    incident = secrets.token_hex(4).upper()
    log.error("Incident %s: %s", incident, _request(), exc_info=error)
    return answer(500, name="internal_error", message=OUR_FAULT.format(incident=incident), incident=incident)


def _request() -> str:
    """Return the request for the log, without the token of a link that sets a password or joins a team."""
    secret = (request.view_args or {}).get("token")
    path = request.path.replace(secret, "…") if secret else request.path
    return f"{request.method} {path}"


def _drain() -> None:
    """Read and forget the rest of a body, for a client that is still sending would never see the answer."""
    if not request.environ.get("wsgi.input_terminated"):
        return  # a server whose stream does not end with the body would wait for ever
    left = DRAIN_LIMIT_BYTES
    stream = request.environ["wsgi.input"]
    with contextlib.suppress(OSError):
        while left > 0 and (chunk := stream.read(min(left, 65_536))):
            left -= len(chunk)
