"""Exports of submissions, standings, scores, grades and the audit log, and the results bundle."""

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Annotated, Any

from flask import Blueprint, Response, stream_with_context
from pydantic import Field

from grader.errors import ErrorKind, OrganizerRefusal
from grader.models import Role
from grader.services.closing import tables
from grader.services.closing.tables import TableKind
from grader.services.competitions import phases
from webapp.http.context import reading, require_role
from webapp.http.fields import Number, Sent
from webapp.http.site import current_site
from webapp.surface import Ask, Surface

blueprint = Blueprint("organize_exports", __name__, url_prefix="/competitions/<slug>/organize/exports")
EXPORTS = Surface(blueprint, tag="running", role=Role.VIEWER)
KINDS = "<any(submissions, standings, scores, audit, grades):kind>"
MOST_AT_ONCE = 2  # an export of 10,000 teams occupies a thread and the interpreter for up to 40 s
slots = threading.BoundedSemaphore(MOST_AT_ONCE)


class ExportQuery(Sent):
    """The scoring version to export; the live one by default."""

    version: Number | None = None
    bom: Annotated[bool, Field(description="Start a CSV with a byte order mark, for Excel.")] = False


@EXPORTS.read(f"/{KINDS}.csv", None, endpoint="csv", file="text/csv")
def export_csv(ask: Ask, query: ExportQuery, kind: str) -> Response:
    """Return all submissions, standings, scores, audit entries or, for editors, grades as CSV."""
    competition, table = ask.competition, TableKind(kind)
    if table is TableKind.GRADES:  # with personal data
        require_role(ask.session, competition.slug, Role.EDITOR)
    tables.version_of(ask.session, competition, table, query.version)
    write = partial(tables.write, competition=competition, kind=table, version_number=query.version)
    return stream(write, "text/csv", f"{competition.slug}-{table}.csv")


@EXPORTS.read("/results.zip", None, endpoint="bundle", file="application/zip")
def export_results(ask: Ask) -> Response:
    """Return the results bundle, after the reveal: CSV tables, the published solution and a README."""
    phases.require_revealed(ask.competition)
    write = partial(tables.write_bundle, competition=ask.competition, storage=current_site().storage)
    return stream(write, "application/zip", f"{ask.competition.slug}-results.zip")


def stream(write: Callable[[Any], Iterator[Any]], mimetype: str, name: str) -> Response:
    """Stream an export unless this web process is sending as many as it can without delaying others."""

    def pieces() -> Iterator[Any]:
        with reading() as session:
            yield from write(session)

    if not slots.acquire(blocking=False):
        message, wait = "Other exports are running. Try again in 15 seconds.", timedelta(seconds=15)
        raise OrganizerRefusal("exports_running", ErrorKind.NOT_YET, message, retry_after=wait)
    answer = Response(stream_with_context(pieces()), mimetype=mimetype)
    answer.call_on_close(slots.release)
    answer.headers.set("Content-Disposition", "attachment", filename=name)
    answer.headers["Cache-Control"] = "no-store"
    return answer
