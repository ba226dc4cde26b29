"""Exports of submissions, standings, scores, grades and the audit log, and the results bundle."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated

from flask import Blueprint, Response, stream_with_context
from flask.typing import ResponseReturnValue
from pydantic import Field

from grader.errors import ErrorKind, OrganizerError
from grader.models import Competition, Role
from grader.services.closing import bundle, tables
from grader.services.closing.tables import Format, TableKind
from webapp.http import api
from webapp.http.auth import organizers_only
from webapp.http.context import competition_of, reading, require_role
from webapp.http.fields import Number, Sent
from webapp.http.organizer_operations import DESK, organizers_operation
from webapp.http.parameters import asked_number
from webapp.http.site import current_site

blueprint = Blueprint("organize_exports", __name__, url_prefix="/competitions/<slug>/organize/exports")
KINDS = "<any(submissions, standings, scores, audit, grades):kind>"
EXPORTS = f"{DESK}/exports/{KINDS}"
MOST_AT_ONCE = 2  # an export of 10,000 teams occupies a thread and the interpreter for up to 40 s
slots = threading.BoundedSemaphore(MOST_AT_ONCE)
TYPES = {Format.CSV: "text/csv", Format.JSON: "application/json"}


@blueprint.get(f"/{KINDS}.<any(csv, json):form>")
@organizers_only(Role.VIEWER)
def download(slug: str, kind: str, form: str) -> ResponseReturnValue:
    """Send an export; `?version=` selects a scoring version other than the live one."""
    return send_export(slug, TableKind(kind), Format(form), asked_number("version"))


@blueprint.get("/results.zip")
@organizers_only(Role.VIEWER)
def download_bundle(slug: str) -> ResponseReturnValue:
    """Send the results bundle, after the reveal."""
    return send_bundle(slug)


class ExportsRunning(OrganizerError):
    """This web process is sending as many exports as it can without delaying other requests."""

    public_name = "exports_running"
    kind = ErrorKind.NOT_YET
    retry_after = timedelta(seconds=15)
    message = "Other exports are running. Try again in 15 seconds."


def send_export(slug: str, wanted: TableKind, format_: Format, number: int | None) -> Response:
    """Stream an export; raise NothingToExport, NotOrganizer or ExportsRunning."""
    with reading() as session:
        competition = competition_of(session, slug)
        if wanted is TableKind.GRADES:  # with personal data
            require_role(session, slug, Role.EDITOR)
        tables.require_there(session, competition=competition, kind=wanted, version_number=number)
    pieces = _pieces(competition, wanted, format_, number)
    return _stream(pieces, TYPES[format_], tables.file_name(competition, wanted, format_))


def send_bundle(slug: str) -> Response:
    """Stream the results bundle; raise OrganizerRefusal or ExportsRunning."""
    with reading() as session:
        competition = competition_of(session, slug)
        bundle.require_revealed(competition)
    return _stream(_bundle_pieces(competition), "application/zip", f"{slug}-results.zip")


def _stream(pieces: Iterator[str] | Iterator[bytes], mimetype: str, name: str) -> Response:
    if not slots.acquire(blocking=False):
        raise ExportsRunning
    answer = Response(stream_with_context(pieces), mimetype=mimetype)
    answer.call_on_close(slots.release)
    answer.headers.set("Content-Disposition", "attachment", filename=name)
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _bundle_pieces(competition: Competition) -> Iterator[bytes]:
    with reading() as session:
        yield from bundle.write(session, competition=competition, storage=current_site().storage)


def _pieces(competition: Competition, kind: TableKind, format_: Format, number: int | None) -> Iterator[str]:
    with reading() as session:
        yield from tables.write(
            session, competition=competition, kind=kind, format_=format_, version_number=number
        )


class ExportQuery(Sent):
    """The scoring version to export; the live one by default."""

    version: Number | None = None
    bom: Annotated[bool, Field(description="Start a CSV with a byte order mark, for Excel.")] = False


@api.blueprint.get(f"{EXPORTS}.csv")
@organizers_operation(Role.VIEWER, tag="running", answers_file="text/csv")
def export_csv(slug: str, kind: str, query: ExportQuery) -> Response:
    """Return all submissions, standings, scores, audit entries or, for editors, grades as CSV."""
    return send_export(slug, TableKind(kind), Format.CSV, query.version)


@api.blueprint.get(f"{EXPORTS}.json")
@organizers_operation(Role.VIEWER, tag="running", answers_file="application/json")
def export_json(slug: str, kind: str, query: ExportQuery) -> Response:
    """Return all submissions, standings, scores, audit entries or, for editors, grades as JSON."""
    return send_export(slug, TableKind(kind), Format.JSON, query.version)


@api.blueprint.get(f"{DESK}/exports/results.zip")
@organizers_operation(Role.VIEWER, tag="running", answers_file="application/zip")
def export_results(slug: str) -> Response:
    """Return the results bundle, after the reveal: CSV tables, the published solution and a README."""
    return send_bundle(slug)
