"""Responses with an ETag: pages, JSON, and stored files, in full or by range."""

import re
from datetime import datetime
from typing import BinaryIO, cast

from flask import Response, g, make_response, request, send_file
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import RequestedRangeNotSatisfiable
from werkzeug.wsgi import FileWrapper

from webapp.http.site import current_site

BINARY = "application/octet-stream"
PIECE_BYTES = 1 << 18


def send_stored(
    sha256: str, *, name: str, modified: datetime | None = None, mimetype: str = BINARY
) -> Response:
    """Return a response that sends a stored file; browsers save it and never display it."""
    stream = current_site().storage.open(sha256)
    return send(stream, name=name, etag=sha256, modified=modified, mimetype=mimetype)


def send(
    stream: BinaryIO, *, name: str, etag: str, modified: datetime | None = None, mimetype: str = BINARY
) -> Response:
    """Return a response that sends a seekable stream and then closes it.

    The server transfers local files itself. Streams from a bucket are read in chunks by this thread.
    """
    size = stream.seek(0, 2)
    stream.seek(0)
    answer = send_file(
        stream,
        mimetype=mimetype,
        as_attachment=True,
        download_name=name,
        conditional=False,
        etag=etag,
        last_modified=modified,
    )
    if not _is_local(stream):
        answer.response = FileWrapper(stream, PIECE_BYTES)
    answer.content_length = size
    try:
        return cast(Response, answer.make_conditional(request, accept_ranges=True, complete_length=size))
    except RequestedRangeNotSatisfiable:
        stream.close()
        raise


def _is_local(stream: BinaryIO) -> bool:
    try:
        stream.fileno()
    except OSError:
        return False
    return True


def conditional(answer: ResponseReturnValue) -> Response:
    """Add an ETag to a response, or return 304 if the client has the same content.

    If the view has set `g.version`, the ETag starts with it, for the `If-Match` of a later change.
    """
    response = make_response(answer)
    response.headers["Cache-Control"] = "private, no-cache"
    response.vary.add("Authorization")
    response.add_etag()
    if version := g.get("version"):
        response.set_etag(f"{version}.{response.get_etag()[0]}")
    return cast(Response, response.make_conditional(request))


def expected_versions() -> set[str] | None:
    """Return the versions in `If-Match`; None if it is absent or accepts any version."""
    if not request.if_match or request.if_match.star_tag:
        return None
    tags = re.findall(r'"([^"]*)"', request.headers["If-Match"])
    return {re.split(r"[.:]", tag, maxsplit=1)[0] for tag in tags}
