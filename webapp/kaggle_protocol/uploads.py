"""Kaggle protocol: resumable uploads, received whole or in parts."""

import re
from datetime import timedelta
from typing import Any

from flask import Response, g, request
from flask.typing import ResponseReturnValue

from grader import db
from grader.files.solution.solution import SIZE_CAP
from grader.models import AnnouncedUpload, Role
from grader.services import uploads as announced
from grader.services.accounts.api_tokens import Scope
from grader.services.competitions import organizers
from grader.services.data_files import files as data_files
from grader.services.setup import drafts
from grader.services.submissions import accepting
from grader.services.submissions.refusal import refusal
from grader.services.uploads import UnknownUpload
from grader.storage import blobs
from grader.storage.stores import BlobMissing, StorageUnavailable, StoredBlob
from webapp.http import lookups
from webapp.http.context import reading, writing
from webapp.http.errors import BadRequest, FileTooLarge
from webapp.http.parameters import Unreadable
from webapp.http.site import current_site
from webapp.kaggle_protocol.protocol import BLOBS, COMPETITIONS, SentFields, address, blueprint, call
from webapp.submissions import uploads

# Maximum size by blob type.
BLOB_TYPES = {"DATASET": data_files.MAX_BYTES, "COMPETITION_SOLUTION": SIZE_CAP}
MORE_TO_COME = 308
_RANGE = re.compile(r"bytes (?:([0-9]{1,15})-([0-9]{1,15})|\*)/([0-9]{1,15})")


class UnreadableRange(BadRequest):
    """A `Content-Range` that does not match the upload."""

    public_name = "unreadable_range"
    message = (
        "`Content-Range` must be `bytes FIRST-LAST/{upload.size_bytes}` and match the length of the body."
    )


@call(COMPETITIONS, "StartSubmissionUpload", Scope.SUBMIT)
def start_submission_upload(sent: SentFields) -> ResponseReturnValue:
    """Announce a submission; raise FileTooLarge or the error that any file would cause."""
    with writing() as session:
        state = lookups.situation_in(session, sent.text("competitionName"))
        if refused := refusal(state):
            raise refused
        limit_bytes = accepting.size_cap(state.competition)
        token, forgotten = _announced(
            session, sent, sent.text("fileName"), limit_bytes, competition=state.competition
        )
    return _address(token, forgotten)


@call(BLOBS, "StartBlobUpload", Scope.ORGANIZE)
def start_blob_upload(sent: SentFields) -> ResponseReturnValue:
    """Announce a data file or a solution, for organizers and users who may create competitions."""
    kind = sent.text("type")
    if kind not in BLOB_TYPES:
        raise Unreadable("type", kind, "DATASET or COMPETITION_SOLUTION")
    with writing() as session:
        roles = organizers.roles(session, user=g.user).values()
        is_editor = any(organizers.reaches(role, Role.EDITOR) for role in roles)
        if not (is_editor or drafts.may_create(session, user=g.user)):
            raise organizers.NotOrganizer(Role.EDITOR, None)
        token, forgotten = _announced(session, sent, sent.text("name"), BLOB_TYPES[kind])
    return _address(token, forgotten)


@blueprint.before_request
def set_limit() -> None:
    """Set the body limit of an upload to its announced size; raise UnknownUpload or NoSpace."""
    if request.endpoint != "kaggle.receive" or request.method != "PUT":
        return
    upload = _found()
    g.file_limit_bytes = upload.size_bytes
    request.max_content_length = upload.size_bytes + 1  # a stream of exactly the limit would be rejected
    uploads.require_room(continued_id=upload.id)


@blueprint.put("/uploads/<token>")
def receive(token: str) -> ResponseReturnValue:
    """Store the received bytes, or return the stored range."""
    upload = _found()
    wanted = _asked_range(upload)
    if upload.used_at is not None or wanted is None:
        return _state(upload)
    part = current_site().storage.put(request.stream, max_bytes=upload.size_bytes)
    stored = {part.sha256, *announced.blobs_of(upload)}
    try:
        upload = _with_part(token, upload, part, *wanted)
        stored -= announced.blobs_of(upload)
    finally:
        _delete_unnamed(stored)
    return _state(upload)


def whole_upload(session: Any, token: str, **of: Any) -> tuple[AnnouncedUpload, StoredBlob]:
    """Return a complete upload and its blob; raise UnknownUpload or UploadIncomplete."""
    upload = announced.whole(session, token=token, user=g.user, now=db.now(session), **of)
    return upload, StoredBlob(upload.sha256 or "", upload.size_bytes)


def held_upload(session: Any, token: str) -> tuple[AnnouncedUpload, StoredBlob]:
    """Return an organizer's complete upload; its blob is protected during the transaction."""
    upload, blob = whole_upload(session, token)
    try:
        blobs.hold(session, storage=current_site().storage, sha256=blob.sha256)
    except BlobMissing as error:
        raise UnknownUpload from error
    announced.note_use(session, token=token, now=db.now(session))
    return upload, blob


def _announced(
    session: Any, sent: SentFields, name: str, limit_bytes: int, *, competition: Any = None
) -> tuple[str, set[str]]:
    size_bytes = sent.number("contentLength") or 0  # the field is missing for an empty file
    if size_bytes > limit_bytes:
        raise FileTooLarge(size_bytes, limit_bytes)
    return announced.announce(
        session, user=g.user, competition=competition, name=name, size_bytes=size_bytes, now=db.now(session)
    )


def _address(token: str, forgotten: set[str]) -> ResponseReturnValue:
    """Delete the blobs of discarded uploads, and return the URL of an announced upload."""
    _delete_unnamed(forgotten)
    return {"token": token, "createUrl": address("kaggle.receive", token=token)}


def _found() -> AnnouncedUpload:
    with reading() as session:
        return announced.find(session, token=(request.view_args or {})["token"], now=db.now(session))


def _asked_range(upload: AnnouncedUpload) -> tuple[int, int | None] | None:
    """Return the body's offset and length, or None for a status query; raise UnreadableRange."""
    text = request.headers.get("Content-Range")
    if text is None:
        return 0, None
    match = _RANGE.fullmatch(text)
    if match is None or int(match[3]) != upload.size_bytes:
        raise UnreadableRange(upload=upload)
    if match[1] is None:
        return None
    return int(match[1]), int(match[2]) - int(match[1]) + 1


def _with_part(
    token: str, upload: AnnouncedUpload, part: StoredBlob, start: int, length: int | None
) -> AnnouncedUpload:
    """Store a new part and return the upload; after the last part, join all parts."""
    if length is not None and part.size != length:
        raise UnreadableRange(upload=upload)
    site = current_site()
    with writing() as session:
        _hold(session, part)
        upload = announced.add_part(session, token=token, part=part, start=start, now=db.now(session))
    if not announced.is_to_join(upload):
        return upload
    whole = announced.join(site.storage, upload)
    with writing() as session:
        _hold(session, whole)
        joined = announced.set_whole(
            session, token=token, parts=upload.parts, whole=whole, now=db.now(session)
        )
    _delete_unnamed(announced.blobs_of(upload) - announced.blobs_of(joined))
    return joined


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


def _state(upload: AnnouncedUpload) -> ResponseReturnValue:
    """Return 200 for a complete file, otherwise 308 with the stored range."""
    if upload.sha256 is not None:
        return {}, 200
    answer = Response(status=MORE_TO_COME)
    if upload.received_bytes:
        answer.headers["Range"] = f"bytes=0-{upload.received_bytes - 1}"
    return answer
