"""Kaggle protocol: URLs of kaggle 1.5 and 1.6, mapped to current handlers.

Those versions can use any server (`KAGGLE_API_ENDPOINT`) and send the API token as a password. They expect
plain lists and require every field that they print.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from flask import request
from flask.typing import ResponseReturnValue

from grader.services.identity.api_tokens import Scope
from webapp.kaggle_protocol import competitions, data, leaderboards, submissions, uploads
from webapp.kaggle_protocol.protocol import Handler, SentFields, blueprint, require_scope

SORTS = {"earliestDeadline": "EARLIEST_DEADLINE", "latestDeadline": "LATEST_DEADLINE"}


def _route(
    method: str, address: str, handler: Handler, scope: Scope = Scope.READ
) -> Callable[[Callable[..., dict[str, Any]]], Callable[..., dict[str, Any]]]:
    """Register a function that converts an old request to the fields of a current handler."""

    def register(fields_of: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        @wraps(fields_of)
        def view(**values: Any) -> ResponseReturnValue:
            require_scope(scope)
            return _as_before(fields_of.__name__, handler(SentFields(fields_of(**values))))

        blueprint.add_url_rule(address, endpoint=fields_of.__name__, view_func=view, methods=[method])
        return fields_of

    return register


@_route("GET", "/competitions/list", competitions.list_competitions)
def old_competitions() -> dict[str, Any]:
    """Convert a request for the competitions."""
    query = request.args.to_dict()
    tab, sort = query.get("group", ""), query.get("sortBy", "")
    fields = {"search": query.get("search", ""), "group": tab.upper(), "sortBy": SORTS.get(sort, sort)}
    return {**_paging(query), **fields}


@_route("GET", "/competitions/data/list/<slug>", data.list_data_files)
def old_files(slug: str) -> dict[str, Any]:
    """Convert a request for the data files."""
    return {"competitionName": slug, **_paging(request.args.to_dict())}


@_route("GET", "/competitions/data/download/<slug>/<path:name>", data.download_data_file)
def old_file(slug: str, name: str) -> dict[str, Any]:
    """Convert a request for a data file."""
    return {"competitionName": slug, "fileName": name}


@_route("GET", "/competitions/data/download-all/<slug>", data.download_data_files)
def old_all_files(slug: str) -> dict[str, Any]:
    """Convert a request for all data files."""
    return {"competitionName": slug}


@_route(
    "POST",
    "/competitions/<slug>/submissions/url/<int:length>/<modified>",
    uploads.start_submission_upload,
    Scope.SUBMIT,
)
def old_upload(slug: str, length: int, modified: str) -> dict[str, Any]:
    """Convert the announcement of an upload."""
    return {"competitionName": slug, "contentLength": length, "fileName": request.form.get("fileName", "")}


@_route("POST", "/competitions/submission-url", uploads.start_submission_upload, Scope.SUBMIT)
def old_upload_by_form() -> dict[str, Any]:
    """Convert the announcement of an upload by version 1.7."""
    return request.form.to_dict()


@_route("POST", "/competitions/submissions/submit/<slug>", submissions.create_submission, Scope.SUBMIT)
def old_submission(slug: str) -> dict[str, Any]:
    """Convert the submission of an uploaded file."""
    return {**request.form.to_dict(), "competitionName": slug}


@_route("GET", "/competitions/submissions/list/<slug>", submissions.list_submissions)
def old_submissions(slug: str) -> dict[str, Any]:
    """Convert a request for the team's submissions."""
    return {"competitionName": slug, **_paging(request.args.to_dict())}


@_route("GET", "/competitions/<slug>/leaderboard/view", leaderboards.get_leaderboard)
def old_leaderboard(slug: str) -> dict[str, Any]:
    """Convert a request for the leaderboard."""
    return {"competitionName": slug}


@_route("GET", "/competitions/<slug>/leaderboard/download", leaderboards.download_leaderboard)
def old_leaderboard_file(slug: str) -> dict[str, Any]:
    """Convert a download of the leaderboard."""
    return {"competitionName": slug}


def _paging(query: dict[str, str]) -> dict[str, str]:
    """Return the requested page; old versions send the text None for a missing value."""
    size = query.get("pageSize") or query.get("pagesize")
    fields = {"page": query.get("page"), "pageToken": query.get("pageToken"), "pageSize": size}
    return {name: value for name, value in fields.items() if value not in (None, "None", "")}


def _as_before(endpoint: str, answer: Any) -> ResponseReturnValue:
    """Return a response in the format of the old versions: plain lists, lowercase statuses."""
    match endpoint:
        case "old_competitions":
            return list(answer["competitions"])
        case "old_files" if "pageSize" not in request.args and "pagesize" not in request.args:
            return list(answer["files"])
        case "old_submissions":
            return [{**each, "status": each["status"].lower()} for each in answer["submissions"]]
    result: ResponseReturnValue = answer
    return result
