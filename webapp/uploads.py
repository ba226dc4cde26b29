"""Receiving a submission's file, on a page or in the API: its limit before its first byte, then its bytes."""

import os
from typing import IO, Any

from flask import Request, g, request
from flask.typing import ResponseReturnValue

from grader.models import Submission
from grader.services import competitions, submissions
from webapp import auth
from webapp.errors import BadRequest, FileTooLarge
from webapp.site import current_site

PAGE_ENDPOINT, API_ENDPOINT = "submissions.submit", "api.submit"
FORM_OVERHEAD_BYTES = 64_000


class UploadRequest(Request):
    """A request that closes the files it has received, also those of a body that was refused half-way."""

    def _get_file_stream(self, *args: Any, **options: Any) -> IO[bytes]:
        stream = super()._get_file_stream(*args, **options)
        self.__dict__.setdefault("received", []).append(stream)
        return stream

    def close(self) -> None:
        super().close()
        for stream in self.__dict__.get("received", ()):
            stream.close()


class FileMissing(BadRequest):
    """An upload without a file."""

    def __init__(self) -> None:
        super().__init__("No file has arrived. Send it as the form field `file`.")


def set_limit() -> ResponseReturnValue | None:
    """Let an upload be as large as its competition allows; a stranger's is not read at all."""
    if request.method != "POST" or request.endpoint not in (PAGE_ENDPOINT, API_ENDPOINT):
        return None
    if g.user is None:
        return auth.ask_to_log_in() if request.endpoint == PAGE_ENDPOINT else None
    with current_site().database.read() as session:
        competition = competitions.get(session, slug=(request.view_args or {})["slug"])
        g.file_limit_bytes = submissions.size_cap(competition)
    request.max_content_length = g.file_limit_bytes + FORM_OVERHEAD_BYTES
    return None


def receive(slug: str) -> Submission:
    """Store the file, then record the submission, then hint the queue: in this order nothing is lost."""
    site = current_site()
    file = request.files.get("file")
    if file is None or not file.filename:
        raise FileMissing
    size_bytes = file.stream.seek(0, os.SEEK_END)
    if size_bytes > g.file_limit_bytes:
        raise FileTooLarge(size_bytes, g.file_limit_bytes)
    file.stream.seek(0)
    blob = site.storage.put(file.stream)
    with site.database.write() as session:
        accepted = submissions.accept(
            session,
            competition=competitions.get(session, slug=slug),
            user=g.user,
            blob=blob,
            file_name=file.filename,
            description=request.form.get("description", ""),
        )
    site.hints.send(accepted.job_ids)
    return accepted.submission
