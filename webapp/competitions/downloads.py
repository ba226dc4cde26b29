"""Downloads: data files, the published solution, its nonce and its canary rows."""

from datetime import datetime
from typing import Any

from flask import Blueprint, Response, g, send_file

from grader import db
from grader.models import Competition, DataFile
from grader.services.competitions import lookup
from grader.services.data_files import files as data_files
from grader.services.data_files.archive import Packed
from grader.services.solutions import publication
from grader.services.solutions.publication import SolutionNotWritten
from grader.services.teams import participations
from grader.storage.stores import BlobMissing, StoredBlob
from webapp.http.context import competition_of, reading
from webapp.http.site import current_site

blueprint = Blueprint("competition_solution", __name__, url_prefix="/competitions/<slug>")


def data_file(session: Any, competition: Competition, name: str) -> DataFile:
    """Return a file that the current user may download; `competition_of` came before.

    Participants from the opening on and once it is checked, organizers at any time. Raises DataNotOpen,
    EntryRefused, UnknownDataFile, BeingChecked.
    """
    _require_access(session, competition)
    found = data_files.get(session, competition=competition, name=name)
    if g.organizer_role is None:
        data_files.require_given_out(competition, found)
    return found


def all_data_files(session: Any, competition: Competition) -> list[DataFile]:
    """Return all files that the current user may download now; raise DataNotOpen, EntryRefused."""
    _require_access(session, competition)
    return [
        file
        for file in data_files.list_all(session, competition=competition)
        if g.organizer_role is not None or data_files.is_given_out(competition, file)
    ]


def packed(session: Any, competition: Competition) -> tuple[list[Packed], datetime]:
    """Return what a zip of everything holds, with the sample submission, and when that changed last.

    Raises DataNotOpen and EntryRefused.
    """
    found = all_data_files(session, competition)
    members = [Packed(file.name, StoredBlob(file.sha256, file.size_bytes)) for file in found]
    times = [competition.created_at, *(file.uploaded_at for file in found)]
    if competition.live_scoring_version is not None:
        members.insert(0, sample(competition))
        times.append(competition.live_scoring_version.created_at)
    return members, max(times)


def sample(competition: Competition) -> Packed:
    """Return the sample submission with its length, which no table keeps."""
    sha256 = lookup.live(competition).solution.sample_submission_sha256
    with current_site().storage.open(sha256) as file:
        return Packed(data_files.SAMPLE_SUBMISSION, StoredBlob(sha256, file.seek(0, 2)))


def _require_access(session: Any, competition: Competition) -> None:
    if g.organizer_role is None:
        participations.require_data_access(session, competition=competition, user=g.user, now=db.now(session))


@blueprint.get("/data/solution.csv")
def download(slug: str) -> Response:
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


@blueprint.get("/data/solution-nonce.txt")
def nonce(slug: str) -> Response:
    """Download the nonce with which every receipt has committed to the published solution."""
    with reading() as session:
        found = publication.nonce(competition_of(session, slug))
    return _attached(f"{found}\n", "text/plain", "solution-nonce.txt")


@blueprint.get("/data/solution-canaries.csv")
def canaries(slug: str) -> Response:
    """Download the list of the canary rows: the altered labels, and the true ones."""
    with reading() as session:
        found = publication.canaries(competition_of(session, slug))
    return _attached(found, "text/csv", "solution-canaries.csv")


def _attached(text: str, media_type: str, name: str) -> Response:
    answer = Response(text, mimetype=media_type)
    answer.headers.set("Content-Disposition", "attachment", filename=name)
    return answer
