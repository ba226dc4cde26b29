"""Health checks and metrics: /livez, /healthz, /readyz and /metrics."""

import hmac
import logging
from collections.abc import Callable

from flask import Blueprint, Response, request
from flask.typing import ResponseReturnValue
from werkzeug.datastructures import WWWAuthenticate
from werkzeug.exceptions import NotFound, Unauthorized

from grader import db
from grader.maintenance import exporter, schema
from grader.maintenance.exporter import Exporter
from grader.services.submissions import scoring_jobs as jobs
from grader.storage import disk
from webapp.http.errors import RETRY_SECONDS
from webapp.http.site import Site, current_site

log = logging.getLogger(__name__)
blueprint = Blueprint("health", __name__)


@blueprint.get("/livez")
def livez() -> ResponseReturnValue:
    """Report that the process is alive. Other faults are not checked, because they must not cause a
    restart."""
    return {"status": "alive"}


@blueprint.get("/healthz")
def healthz() -> ResponseReturnValue:
    """Report the age of the oldest pending submission and whether the queue is reachable."""
    site = current_site()
    with site.database.read() as session:
        oldest = jobs.oldest_pending(session)
        age = (db.now(session) - oldest).total_seconds() if oldest else None
    return {"status": "ok", "oldest_pending_seconds": age, "queue": _queue(site)}


@blueprint.get("/readyz")
def readyz() -> ResponseReturnValue:
    """Report whether requests can be served: the schema is usable and there is enough disk space."""
    site = current_site()
    checks = {
        "database": _succeeds(lambda: schema.is_usable(site.database)),
        "disk": _succeeds(lambda: not disk.is_short(site.settings)),
    }
    is_ready = all(checks.values())
    answer = {"status": "ready" if is_ready else "not ready", "checks": checks}
    return answer, *((200, {}) if is_ready else (503, {"Retry-After": str(RETRY_SECONDS)}))


@blueprint.get("/metrics")
def metrics() -> ResponseReturnValue:
    """Return the metrics to requests with the metrics token; without a configured token, 404."""
    site = current_site()
    if (token := site.settings.metrics_token) is None:
        raise NotFound
    expected = f"Bearer {token.get_secret_value()}".encode()
    if not hmac.compare_digest(request.headers.get("Authorization", "").encode(), expected):
        raise Unauthorized(www_authenticate=WWWAuthenticate("bearer"))
    text = Exporter(site.settings, site.database).text()
    return Response(text, content_type="text/plain; version=0.0.4; charset=utf-8")


def _succeeds(check: Callable[[], bool]) -> bool:
    try:
        return check()
    except Exception as error:
        # Load balancers call this every few seconds, so log one line without a traceback.
        log.warning("A health check failed: %r", error)
        return False


def _queue(site: Site) -> str:
    url = site.settings.redis_url()
    if url is None:
        return "none"
    return "ok" if _succeeds(lambda: exporter.ping(url) >= 0) else "unreachable"
