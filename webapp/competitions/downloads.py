"""Data page and downloads: data files, published solution, nonce."""

from datetime import datetime
from typing import Any

from flask import Blueprint, Response, g, send_file

from grader import db
from grader.models import Competition, DataFile
from grader.services.competitions import lookup
from grader.services.solutions import data_archive as archive
from grader.services.solutions import data_checks as checks
from grader.services.solutions import data_files, publication
from grader.services.solutions.data_archive import Packed
from grader.services.solutions.publication import SolutionNotWritten
from grader.services.teams import participations
from grader.services.teams.participations import EntryRefused
from grader.storage.stores import BlobMissing, StoredBlob
from grader.visibility import Phase
from webapp.competitions import prose
from webapp.http import auth, responses
from webapp.http.context import competition_of, reading
from webapp.http.site import current_site
from webapp.surface import Access, Ask, Surface

blueprint = Blueprint("competition_data", __name__, url_prefix="/competitions/<slug>/data")
DATA = Surface(blueprint, tag="competitions", role=Access.PUBLIC)


def data_file(session: Any, competition: Competition, name: str) -> DataFile:
    """Return a file that the current user may download. Call `competition_of` first.

    Organizers may always download. Participants may download a file once the competition has opened and the
    file has been checked. Raises DataNotOpen, EntryRefused, Refusal or BeingChecked.
    """
    _require_access(session, competition)
    file = data_files.get(session, competition=competition, name=name)
    if g.organizer_role is None:
        data_files.require_given_out(competition, file)
    return file


def all_data_files(session: Any, competition: Competition) -> list[DataFile]:
    """Return the files that the current user may download; raise DataNotOpen or EntryRefused."""
    _require_access(session, competition)
    return [
        each
        for each in data_files.list_all(session, competition=competition)
        if g.organizer_role is not None or data_files.is_given_out(competition, each)
    ]


def packed(session: Any, competition: Competition) -> tuple[list[Packed], datetime]:
    """Return the ZIP file's members and modification time; raise DataNotOpen or EntryRefused."""
    files = all_data_files(session, competition)
    members = [Packed(file.name, StoredBlob(file.sha256, file.size_bytes)) for file in files]
    times = [competition.created_at, *(file.uploaded_at for file in files)]
    if competition.live_scoring_version is not None:
        members.insert(0, sample(competition))
        times.append(competition.live_scoring_version.created_at)
    return members, max(times)


def sample(competition: Competition) -> Packed:
    """Return the sample submission with its size, which the database does not contain."""
    sha256 = lookup.live(competition).solution.sample_submission_sha256
    with current_site().storage.open(sha256) as file:
        return Packed(data_files.SAMPLE_SUBMISSION, StoredBlob(sha256, file.seek(0, 2)))


def _require_access(session: Any, competition: Competition) -> None:
    if g.organizer_role is None:
        participations.require_data_access(session, competition=competition, user=g.user, now=db.now(session))


@DATA.read("", None, endpoint="show", page="competitions/data.html")
def data_page(ask: Ask) -> Any:
    """Show the description of the data, and list the files."""
    competition, entry_fault = ask.competition, None
    listed = data_files.list_all(ask.session, competition=competition)
    has_opened = ask.competition_view.phase is not Phase.SCHEDULED
    if g.user is not None and g.organizer_role is None and has_opened:
        try:
            _require_access(ask.session, competition)
        except EntryRefused as refused:
            entry_fault = refused.message
    return {
        "text": prose.stored(competition, competition.slug, competition.data_description),
        "files": listed,
        "are_given_out": {file.name: data_files.is_given_out(competition, file) for file in listed},
        "previews": {file.name: checks.preview_of(file) for file in listed},
        "is_given_out": g.organizer_role is not None or has_opened,
        "entry_fault": entry_fault,
    }


@blueprint.get("/all.zip")
@auth.login_required
def all_files(slug: str) -> Response:
    """Download all files that the current user may download as one ZIP file."""
    site = current_site()
    with reading() as session:
        members, modified = packed(session, competition_of(session, slug))
    opened = archive.opened(site.storage, site.checksums, members)
    return responses.send(opened, name=f"{slug}.zip", etag=archive.version_of(members), modified=modified)


@blueprint.get("/files/<name>")
@auth.login_required
def file(slug: str, name: str) -> Response:
    """Download a data file."""
    return send_data_file(slug, name)


def send_data_file(slug: str, name: str) -> Response:
    """Send a data file that the current user may download, or the requested range of it."""
    with reading() as session:
        file = data_file(session, competition_of(session, slug), name)
    stream = current_site().storage.open(file.sha256)
    return responses.send(stream, name=file.name, etag=file.sha256, modified=file.uploaded_at)


@blueprint.get("/solution.csv")
def solution(slug: str) -> Response:
    """Download the published solution in its canonical form."""
    site = current_site()
    with reading() as session:
        digest = publication.digest(competition_of(session, slug))
    try:
        stream = site.storage.open(digest)
    except BlobMissing as error:
        raise SolutionNotWritten from error
    return send_file(
        stream, mimetype="text/csv", as_attachment=True, download_name="solution.csv", etag=digest
    )


@blueprint.get("/solution-nonce.txt")
def nonce(slug: str) -> Response:
    """Download the nonce of the commitment to the published solution."""
    with reading() as session:
        text = publication.nonce(competition_of(session, slug))
    return _attached(f"{text}\n", "text/plain", "solution-nonce.txt")


def _attached(text: str, media_type: str, name: str) -> Response:
    answer = Response(text, mimetype=media_type)
    answer.headers.set("Content-Disposition", "attachment", filename=name)
    return answer
