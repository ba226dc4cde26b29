"""Kaggle protocol: list of a competition's data files, and downloads of one or all files."""

from collections.abc import Callable
from functools import partial
from typing import Any

from flask import Response
from flask.typing import ResponseReturnValue

from grader.models import Competition
from grader.services.competitions import lookup
from grader.services.site.paging import page_of_list
from grader.services.solutions import data_archive as archive
from grader.services.solutions import data_files
from grader.services.solutions.data_files import SAMPLE_SUBMISSION
from webapp.competitions import downloads
from webapp.http import responses
from webapp.http.context import competition_of, reading
from webapp.http.site import current_site
from webapp.kaggle_protocol.protocol import (
    COMPETITIONS,
    SentFields,
    asked_paging,
    call,
    next_token,
    time_text,
)
from webapp.kaggle_protocol.signed_files import LinkExpired, offer, sender

PAGE_SIZE = 20


@call(COMPETITIONS, "ListDataFiles")
def list_data_files(sent: SentFields) -> ResponseReturnValue:
    """Return a page of the data files, including the sample submission."""
    page, size = asked_paging(sent, usual_size=PAGE_SIZE)
    with reading() as session:
        competition = competition_of(session, sent.text("competitionName"))
        files = data_files.list_all(session, competition=competition)
        listed = [_line(file.name, file.size_bytes, time_text(file.uploaded_at)) for file in files]
        version = competition.live_scoring_version
        if version is not None:
            sample = downloads.sample(competition)
            listed.insert(0, _line(sample.name, sample.blob.size, time_text(version.created_at)))
    part = page_of_list(listed, page=page, page_size=size)
    return {"files": list(part.rows), "nextPageToken": next_token(part.page, part.page_count)}


@call(COMPETITIONS, "DownloadDataFile")
def download_data_file(sent: SentFields) -> ResponseReturnValue:
    """Redirect to a file that the user may download."""
    name = sent.text("fileName")
    with reading() as session:
        competition = competition_of(session, sent.text("competitionName"))
        if name == SAMPLE_SUBMISSION:
            return offer("file", competition, name, version=downloads.sample(competition).blob.sha256)
        file = downloads.data_file(session, competition, name)
    return offer("file", competition, file.name, version=file.sha256)


@call(COMPETITIONS, "DownloadDataFiles")
def download_data_files(sent: SentFields) -> ResponseReturnValue:
    """Redirect to a ZIP file of all files that the user may download now."""
    with reading() as session:
        competition = competition_of(session, sent.text("competitionName"))
        packed, _ = downloads.packed(session, competition)
    return offer("files", competition, f"{competition.slug}.zip", version=archive.version_of(packed))


@sender("file")
def send_file(session: Any, competition: Competition, name: str, version: str) -> Callable[[], Response]:
    """Send a data file or the sample submission if its version is unchanged."""
    if name == SAMPLE_SUBMISSION:
        live = lookup.live(competition)
        sha256, modified = live.solution.sample_submission_sha256, live.created_at
    else:
        file = downloads.data_file(session, competition, name)
        sha256, modified = file.sha256, file.uploaded_at
    if sha256 != version:
        raise LinkExpired
    return lambda: responses.send(
        current_site().storage.open(sha256), name=name, etag=sha256, modified=modified
    )


@sender("files")
def send_files(session: Any, competition: Competition, name: str, version: str) -> Callable[[], Response]:
    """Send the ZIP file of all files if they are unchanged."""
    packed, modified = downloads.packed(session, competition)
    if archive.version_of(packed) != version:
        raise LinkExpired
    site = current_site()
    opened = partial(archive.opened, site.storage, site.checksums, packed)
    return lambda: responses.send(opened(), name=name, etag=version, modified=modified)


def _line(name: str, size_bytes: int, created: str | None) -> dict[str, Any]:
    return {"name": name, "totalBytes": size_bytes, "creationDate": created, "ref": name}
