"""Request metrics: responses, errors and durations by interface and group of endpoints."""

import time
from functools import lru_cache

from flask import Flask, Response, g, request

from grader.counters import HTTP_ERRORS, HTTP_REQUESTS, HTTP_SECONDS
from webapp.server.requests import HEAD

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
UPLOADS = frozenset(
    {
        *("submissions.submit", "submissions.submit_again", "api.submit", "api.submit_again"),
        *("kaggle.receive", "kaggle.create_submission", "kaggle.old_submission"),
    }
)
UPLOAD, UNKNOWN = "uploads", "unknown"


def init_app(app: Flask) -> None:
    """Count requests. This must be the first hook, so that the others are measured too."""
    groups = lru_cache(None)(lambda endpoint: _group(app, endpoint))

    def start() -> None:
        g.started = time.perf_counter()

    def count(response: Response) -> Response:
        if request.environ.get(HEAD) is not None and response.status_code == 204:
            return response  # only the headers were checked; the complete request follows
        group = groups(request.endpoint)
        interface = request.blueprint if request.blueprint in ("api", "kaggle") else "pages"
        method = "read" if request.method in SAFE_METHODS else "write"
        HTTP_REQUESTS.add(interface, group, method, str(response.status_code))
        HTTP_SECONDS.observe(time.perf_counter() - g.started, interface, group, method)
        if response.status_code >= 400:
            HTTP_ERRORS.add(interface, group, g.get("error_name", UNKNOWN))
        return response

    app.before_request(start)
    app.after_request(count)


def _group(app: Flask, endpoint: str | None) -> str:
    """Return the group of an endpoint: the package of its view, or the kind of request."""
    if endpoint is None:
        return UNKNOWN
    if endpoint in UPLOADS:
        return UPLOAD
    return app.view_functions[endpoint].__module__.split(".")[1]
