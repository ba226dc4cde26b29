"""Error responses as pages or JSON: HTTP status, error name, message.

Errors of the grader contain data and a message; this module maps them to an HTTP status. Unexpected errors
are logged under an incident id, and the response shows only this id.
"""

import logging
import math
import re
import secrets
from datetime import datetime
from typing import Any

from flask import Flask, current_app, g, redirect, render_template, request, url_for
from flask.globals import request_ctx
from flask.typing import ResponseReturnValue
from flask_wtf.csrf import CSRFError
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from grader import db
from grader.errors import ErrorKind, FairboardError, ParticipantError, Refusal
from grader.storage import disk
from grader.storage.stores import StorageUnavailable
from grader.text import iso
from webapp.http import context
from webapp.presentation import formats

log = logging.getLogger(__name__)

SENTENCES = {
    400: "The request could not be understood.",
    401: "This request needs a valid token. Send it as `Authorization: Bearer TOKEN`.",
    403: "You don't have permission to do this.",
    404: "There is no page at this address.",
    405: "This URL does not support the request's method.",
    429: "Too many requests of this kind were sent from your account or IP address. Try again later.",
}
OUR_FAULT = "Something went wrong on our side (incident {incident}). Try again later."
DATABASE_AWAY = "The database is not responding. Try again in a few seconds."
OUTCOME_UNKNOWN = (
    f"{DATABASE_AWAY} This request may have taken effect, so check before you send it again. "
    "A file sent with an Idempotency-Key is accepted only once, however often you send it."
)
DATABASE_BUSY = "The database is overloaded, so this request was not completed. Try again in a few seconds."
STORAGE_AWAY = "The file storage is not responding. Try again in a few seconds."
RETRY_SECONDS = 5
FORM_EXPIRED = "This form has expired or came from another site. Go back, reload the page and try again."


def unreadable(message: str) -> Refusal:
    """Return the error of a request whose fields are invalid."""
    return Refusal("unreadable", ErrorKind.INVALID, message)


def file_too_large(limit_bytes: int) -> Refusal:
    """Return the error of an upload larger than a limit."""
    message = f"The file is too large; the limit is {formats.size(limit_bytes)}."
    return Refusal("file_too_large", ErrorKind.TOO_LARGE, message)


STATUSES = {
    ErrorKind.INVALID: 400,
    ErrorKind.LOGIN_NEEDED: 401,
    ErrorKind.FORBIDDEN: 403,
    ErrorKind.NOT_FOUND: 404,
    ErrorKind.CONFLICT: 409,
    ErrorKind.GONE: 410,
    ErrorKind.CHANGED: 412,
    ErrorKind.TOO_LARGE: 413,
    ErrorKind.MISMATCH: 422,
    ErrorKind.LIMITED: 429,
    ErrorKind.NOT_YET: 503,
    ErrorKind.NO_ROOM: 507,
}


def wants_json() -> bool:
    """Return whether the response is JSON: in the API, and for clients that prefer JSON."""
    if request.path.startswith("/api/") or request.path in ("/livez", "/healthz", "/readyz", "/metrics"):
        return True
    if request_ctx.url_adapter is None:
        return True  # The host name of this request is invalid, so an error page could not link to anything.
    accepted = request.accept_mimetypes
    return accepted.best_match(["text/html", "application/json"], default="text/html") == "application/json"


def status_of(error: FairboardError) -> int:
    """Return the HTTP status of an error."""
    return STATUSES[error.kind]


def headers_of(error: FairboardError) -> dict[str, str]:
    """Return the headers of an error's response, such as `Retry-After`."""
    if error.retry_after is None:
        return {}
    return {"Retry-After": str(math.ceil(error.retry_after.total_seconds()))}


def details_of(error: FairboardError) -> dict[str, Any]:
    """Return the error's data for clients, in JSON types."""
    details: dict[str, Any] = {
        name: iso(value) if isinstance(value, datetime) else value for name, value in error.details.items()
    }
    if "problems" in details:
        details["problems"] = [{"code": error.public_name, **each} for each in details["problems"]]
    return details


def answer(
    status: int, *, name: str, message: str, headers: dict[str, str] | None = None, **extra: Any
) -> ResponseReturnValue:
    """Return an error response, as JSON or as a page."""
    g.error_name = name
    if wants_json():
        return {"code": status, "error": name, "message": message, **extra}, status, headers or {}
    context.end_reading()  # the transaction may have failed
    return render_template("error.html", status=status, message=message), status, headers or {}


def init_app(app: Flask) -> None:
    """Register the handlers of all errors."""
    app.register_error_handler(FairboardError, fairboard_error)
    app.register_error_handler(RequestEntityTooLarge, _too_large)
    app.register_error_handler(CSRFError, _foreign_form)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Exception, _unforeseen)


def fairboard_error(error: FairboardError, **extra: Any) -> ResponseReturnValue:
    """Return the response to an error of the grader, in JSON with further fields.

    Organizers' errors are shown to other users as internal errors.
    """
    if not isinstance(error, ParticipantError) and g.get("organizer_role") is None:
        return _unforeseen(error)  # its message may quote the solution
    if isinstance(error, context.SecondFactorMissing) and not wants_json():
        target = request.full_path.rstrip("?") if request.method == "GET" else None
        return redirect(url_for("account.second_factors", next=target))
    if isinstance(error, context.LoginNeeded) and not wants_json():
        return redirect(url_for("account.log_in", next=request.full_path.rstrip("?")))
    return answer(
        status_of(error),
        name=error.public_name,
        message=error.message,
        headers=headers_of(error),
        **details_of(error),
        **extra,
    )


def _too_large(_error: RequestEntityTooLarge) -> ResponseReturnValue:
    limit = g.get("file_limit_bytes") or current_app.config["MAX_CONTENT_LENGTH"]
    return fairboard_error(file_too_large(limit))


def _foreign_form(_error: CSRFError) -> ResponseReturnValue:
    return answer(403, name="form_expired", message=FORM_EXPIRED)


def _http_error(error: HTTPException) -> ResponseReturnValue:
    status = error.code or 500
    if status < 400:
        return error
    headers = {name: value for name, value in error.get_headers() if name != "Content-Type"}
    name = re.sub(r"\W+", "_", error.name.lower())
    message = SENTENCES.get(status, error.name + ".")
    return answer(status, name=name, message=message, headers=headers)


def _unforeseen(error: Exception) -> ResponseReturnValue:
    retry = {"Retry-After": str(RETRY_SECONDS)}
    if disk.is_full(error):
        log.error("The disk is full: %s: %s", _request(), error)
        return fairboard_error(disk.NoSpace())
    if db.is_unavailable(error):
        if limit := db.exceeded_limit(error):
            log.error("A limit of the database (%s) was exceeded: %s: %s", limit, _request(), error)
            message = DATABASE_BUSY
        else:
            log.error("The database is not responding: %s: %s", _request(), error)
            message = DATABASE_AWAY if request.method in ("GET", "HEAD") else OUTCOME_UNKNOWN
        return answer(503, name="database_unavailable", message=message, headers=retry)
    if isinstance(error, StorageUnavailable):
        log.error("The storage is not responding: %s: %s", _request(), error)
        return answer(503, name="storage_unavailable", message=STORAGE_AWAY, headers=retry)
    incident = secrets.token_hex(4).upper()
    log.error("Incident %s: %s", incident, _request(), exc_info=error, extra={"incident": incident})
    return answer(500, name="internal_error", message=OUR_FAULT.format(incident=incident), incident=incident)


def _request() -> str:
    """Return the request's method and route for the log, because a path may contain a secret token."""
    return f"{request.method} {request.url_rule.rule if request.url_rule else '(no route)'}"
