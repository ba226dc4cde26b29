"""Data page and downloads: data files, published solution, nonce."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from io import BytesIO
from typing import Any, NamedTuple

from flask import Blueprint, Response, g
from zipstream import ZipStream

from grader import db
from grader.models import Competition, DataFile
from grader.services.competitions import lookup
from grader.services.identity.api_tokens import Scope
from grader.services.solutions import data_checks as checks
from grader.services.solutions import data_files, publication
from grader.services.teams import participations
from grader.services.teams.participations import EntryRefused
from grader.storage.stores import COPIED_BYTES, Storage
from grader.visibility import Phase
from webapp.competitions import prose
from webapp.http import responses
from webapp.http.fields import Answer, Moment
from webapp.http.site import current_site
from webapp.surface import Access, Ask, Surface

blueprint = Blueprint("competition_data", __name__, url_prefix="/competitions/<slug>/data")
DATA = Surface(blueprint, tag="competitions", role=Access.PUBLIC, scope=Scope.READ)
# Everyone may download these files.
FILES = Surface(blueprint, tag="competitions", role=Access.PUBLIC, api="/competitions/<slug>")


class StoredFile(NamedTuple):
    """A stored file and its name in a ZIP file."""

    name: str
    sha256: str
    size_bytes: int
    created_at: datetime


class DataFileLine(Answer):
    """A data file of a competition."""

    name: str
    description: str
    size_bytes: int
    sha256: str
    uploaded_at: Moment


class DataFileList(Answer):
    """The data files that the user may download."""

    files: list[DataFileLine]
    next: None


def allowed_file(session: Any, competition: Competition, name: str) -> DataFile:
    """Return a file that the current user may download. Call `competition_of` first.

    Organizers may always download. Participants may download a file once the competition has opened and the
    file has been checked. Raises EntryRefused or Refusal.
    """
    _require_access(session, competition)
    file = data_files.get(session, competition=competition, name=name)
    if g.organizer_role is None:
        data_files.require_given_out(competition, file)
    return file


def all_data_files(session: Any, competition: Competition) -> list[DataFile]:
    """Return the files that the current user may download; raise Refusal or EntryRefused."""
    _require_access(session, competition)
    return [
        each
        for each in data_files.list_all(session, competition=competition)
        if g.organizer_role is not None or data_files.is_given_out(competition, each)
    ]


def with_sample(session: Any, competition: Competition) -> list[StoredFile]:
    """Return the members of the ZIP file; raise Refusal or EntryRefused."""
    files = all_data_files(session, competition)
    members = [StoredFile(file.name, file.sha256, file.size_bytes, file.uploaded_at) for file in files]
    if competition.live_scoring_version is not None:
        members.insert(0, sample(competition))
    return members


def version_of(files: list[StoredFile]) -> str:
    """Return a hash of the names and contents of files."""
    return hashlib.sha256("\n".join(f"{file.sha256} {file.name}" for file in files).encode()).hexdigest()


def zipped(files: list[StoredFile], name: str) -> Response:
    """Return a response that sends an uncompressed ZIP file while it is created."""
    storage, archive = current_site().storage, ZipStream(sized=True)
    for file in files:
        archive.add(_pieces(storage, file.sha256), file.name, size=file.size_bytes)
    answer = Response(iter(archive), mimetype=responses.BINARY, direct_passthrough=True)
    answer.headers.set("Content-Disposition", "attachment", filename=name)
    answer.content_length = len(archive)
    answer.set_etag(version_of(files), weak=True)  # the archive contains the time of the download
    answer.last_modified = max(
        (file.created_at for file in files), default=None
    )  # the kaggle command needs it
    return answer


def _pieces(storage: Storage, sha256: str) -> Iterator[bytes]:
    with storage.open(sha256) as file:
        yield from iter(partial(file.read, COPIED_BYTES), b"")


def sample(competition: Competition) -> StoredFile:
    """Return the sample submission with its size, which the database does not contain."""
    version = lookup.live(competition)
    sha256 = version.solution.sample_submission_sha256
    with current_site().storage.open(sha256) as file:
        return StoredFile(data_files.SAMPLE_SUBMISSION, sha256, file.seek(0, 2), version.created_at)


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


@DATA.read("", DataFileList)
def data_file_list(ask: Ask) -> DataFileList:
    """List the data files that the user may download now."""
    files = all_data_files(ask.session, ask.competition)
    return DataFileList(files=[DataFileLine.model_validate(each) for each in files], next=None)


@replace(DATA, role=Access.USER).read(
    "/files/<name>", None, endpoint="file", api_path="/<name>", file=responses.BINARY
)
def data_file(ask: Ask, name: str) -> Response:
    """Download a data file or a range of it."""
    file = allowed_file(ask.session, ask.competition, name)
    return responses.send_stored(file.sha256, name=file.name, modified=file.uploaded_at)


@replace(DATA, role=Access.USER).read("/all.zip", None, endpoint="all_files")
def all_files(ask: Ask) -> Response:
    """Download all files that the current user may download as one ZIP file."""
    return zipped(with_sample(ask.session, ask.competition), f"{ask.competition.slug}.zip")


@FILES.read(
    "/sample_submission.csv",
    None,
    endpoint="sample_submission",
    api_path="/sample-submission",
    file="text/csv",
)
def sample_submission(ask: Ask) -> Response:
    """Download the sample submission, ordered by id."""
    digest = lookup.live(ask.competition).solution.sample_submission_sha256
    return responses.send_stored(digest, name=data_files.SAMPLE_SUBMISSION, mimetype="text/csv")


@FILES.read("/solution.csv", None, endpoint="solution", api_path="/solution", file="text/csv")
def published_solution(ask: Ask) -> Response:
    """Download the solution in its canonical form, once it is published."""
    digest = publication.published(ask.competition).digest
    return responses.send_stored(digest, name="solution.csv", mimetype="text/csv")


@FILES.read("/solution-nonce.txt", None, endpoint="nonce", api_path="/solution-nonce", file="text/plain")
def published_nonce(ask: Ask) -> Response:
    """Download the nonce of the commitment to the published solution."""
    solution = publication.published(ask.competition)
    text = BytesIO(f"{solution.nonce}\n".encode())
    return responses.send(text, name="solution-nonce.txt", etag=solution.digest, mimetype="text/plain")
