"""Kaggle protocol: announced uploads of submissions, received whole."""

from datetime import timedelta
from typing import Any

from flask import g, request
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import AnnouncedUpload
from grader.services.identity.api_tokens import Scope
from grader.services.submissions import accepting
from grader.services.submissions import uploads as announced
from grader.services.submissions.refusal import refusal
from grader.storage import blobs
from grader.storage.stores import BlobMissing, StorageUnavailable, StoredBlob
from webapp.http import lookups
from webapp.http.context import reading, writing
from webapp.http.errors import BadRequest, FileTooLarge
from webapp.http.site import current_site
from webapp.kaggle_protocol.protocol import COMPETITIONS, SentFields, address, blueprint, call
from webapp.submissions import uploads

INCOMPLETE = 308


class UnreadableRange(BadRequest):
    """A `Content-Range` that is not that of the whole file."""

    public_name = "unreadable_range"
    message = "An upload cannot be resumed. Send the whole file of {upload.size_bytes:,} bytes again."


@call(COMPETITIONS, "StartSubmissionUpload", Scope.SUBMIT)
def start_submission_upload(sent: SentFields) -> ResponseReturnValue:
    """Announce a submission; raise FileTooLarge or the error that any file would cause."""
    size_bytes = sent.number("contentLength") or 0  # the field is missing for an empty file
    with writing() as session:
        state = lookups.situation_in(session, sent.text("competitionName"))
        if refused := refusal(state):
            raise refused
        limit_bytes = accepting.size_cap(state.competition)
        if size_bytes > limit_bytes:
            raise FileTooLarge(size_bytes, limit_bytes)
        token, forgotten = announced.announce(
            session,
            user=g.user,
            competition=state.competition,
            name=sent.text("fileName"),
            size_bytes=size_bytes,
            now=db.now(session),
        )
    _delete_unnamed(forgotten)
    return {"token": token, "createUrl": address("kaggle.receive", token=token)}


@blueprint.before_request
def set_limit() -> None:
    """Set the body limit of an upload to its announced size; raise UnknownUpload or NoSpace."""
    if request.endpoint != "kaggle.receive" or request.method != "PUT":
        return
    upload = _found()
    g.file_limit_bytes = upload.size_bytes
    request.max_content_length = upload.size_bytes + 1  # a stream of exactly the limit would be rejected
    uploads.require_room()


@blueprint.put("/uploads/<token>")
def receive(token: str) -> ResponseReturnValue:
    """Store the file, or return whether it is stored; the command asks after an interruption."""
    upload = _found()
    size = upload.size_bytes
    wanted = request.headers.get("Content-Range")
    if wanted == f"bytes */{size}" or upload.used_at is not None:
        # Without a range in the response, the command sends the whole file.
        return {}, 200 if upload.sha256 else INCOMPLETE
    if wanted not in (None, f"bytes 0-{size - 1}/{size}"):
        raise UnreadableRange(upload=upload)
    file = current_site().storage.put(request.stream, max_bytes=size)
    superfluous = {file.sha256, *([upload.sha256] if upload.sha256 else [])}
    try:
        with writing() as session:
            _hold(session, file)
            upload = announced.receive(session, token=token, file=file, now=db.now(session))
        superfluous -= {upload.sha256 or ""}
    finally:
        _delete_unnamed(superfluous)
    return {}, 200


def _found() -> AnnouncedUpload:
    with reading() as session:
        return announced.find(session, token=(request.view_args or {})["token"], now=db.now(session))


def whole_upload(session: Any, token: str, **of: Any) -> tuple[AnnouncedUpload, StoredBlob]:
    """Return a complete upload and its blob; raise UnknownUpload or Refusal."""
    upload = announced.whole(session, token=token, user=g.user, now=db.now(session), **of)
    return upload, StoredBlob(upload.sha256 or "", upload.size_bytes)


def _hold(session: Any, blob: StoredBlob) -> None:
    """Protect a blob; if it has just been deleted, fail so that the command sends the file again."""
    try:
        blobs.hold(session, storage=current_site().storage, sha256=blob.sha256)
    except BlobMissing as error:
        raise StorageUnavailable(str(error)) from error


def _delete_unnamed(names: set[str]) -> None:
    """Delete replaced blobs, so that repeated uploads cannot fill the disk."""
    if names:
        site = current_site()
        blobs.delete_unnamed(site.database, site.storage, sorted(names), age=timedelta())
