"""Submission uploads: size limit, storage, handover to the acceptance service."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, BinaryIO, cast

from flask import g, request
from werkzeug.datastructures import FileStorage

from grader import db, logs
from grader.counters import UPLOADS
from grader.crash_points import reach
from grader.errors import ErrorKind, Refusal
from grader.files.solution.solution import SIZE_CAP
from grader.models import Competition, Role
from grader.services.competitions import figures, lookup, organizers
from grader.services.competitions.acting import Act
from grader.services.competitions.metric import Rules
from grader.services.identity import roster_file
from grader.services.solutions import data_files as files
from grader.services.solutions import intake
from grader.services.submissions import accepting, rejected_files, uploads
from grader.services.submissions.accepting import AcceptedUpload
from grader.services.submissions.refusal import refusal
from grader.services.submissions.situation import SentFile
from grader.services.submissions.uploads import IDLE_AFTER, UnknownUpload
from grader.storage import blobs, disk
from grader.storage.stores import BlobMissing
from grader.worker import checking
from grader.worker.checking import CheckerResult
from webapp.http import middleware
from webapp.http.bodies import FairboardRequest, sha256_of
from webapp.http.context import LoginNeeded, competition_of, reading, situation_in, writing
from webapp.http.errors import file_too_large
from webapp.http.site import current_site

CHECK_ENDPOINT = "api.check"  # this endpoint does not store the file
ENDPOINTS = frozenset({"submissions.submit", "api.submit", CHECK_ENDPOINT})
FORM_OVERHEAD_BYTES = 64_000
TEXTS_BYTES = 512_000
# The largest files that editors may upload, by the endpoints of page and API; None is that of a submission.
_BY_ACT = {
    ("organize_data.upload", "api.upload_data_file"): files.MAX_BYTES,
    # A figure is sent with the texts of its page, which are shown again.
    ("organize_settings.upload_figure", "api.upload_figure"): figures.MAX_BYTES + TEXTS_BYTES,
    ("organize_data.add_baseline", "api.add_baseline"): None,
    # These uploads may include test.csv or a sample submission.
    ("organize_solution.upload", "api.upload_solution"): 2 * SIZE_CAP,
    ("organize_settings.upload_metric_file", "api.upload_metric_file"): 100_000_000,
    ("organize_roster.import_students", "api.import_students"): roster_file.MOST_BYTES,
}
ORGANIZERS_LIMITS = {endpoint: size for both, size in _BY_ACT.items() for endpoint in both}
# Keep in sync with deploy/nginx.conf.
LARGEST_BODY_BYTES = max(filter(None, ORGANIZERS_LIMITS.values())) + FORM_OVERHEAD_BYTES


@dataclass(frozen=True, slots=True)
class Upload:
    """A completely received file with its form fields."""

    stream: BinaryIO
    file: SentFile
    file_name: str
    description: str


def limit_file(limit_bytes: int | None = None, *, role: Role | None = None) -> None:
    """Limit an upload, by default to the competition's maximum size of a submission; raise NoSpace.

    Users without a required role may send only a form, which the page rejects.
    """
    if g.user is None:
        if request.blueprint == "api":
            return  # `require_token` rejects the request
        raise LoginNeeded
    with reading() as session:
        competition = competition_of(session, (request.view_args or {})["slug"])
    if role is not None and not organizers.reaches(g.organizer_role, role):
        return
    g.file_limit_bytes = accepting.size_cap(competition) if limit_bytes is None else limit_bytes
    request.max_content_length = g.file_limit_bytes + FORM_OVERHEAD_BYTES
    if request.endpoint == "organize_roster.import_students":  # the preview keeps the list in a field
        request.max_form_memory_size = request.max_content_length
    if request.endpoint != CHECK_ENDPOINT:
        require_room()


# Checks by endpoint that run before the body of a POST request is received.
BODY_LIMITS: Mapping[str, Callable[[], None]] = {
    **dict.fromkeys(ENDPOINTS, limit_file),
    **{name: partial(limit_file, size, role=Role.EDITOR) for name, size in ORGANIZERS_LIMITS.items()},
}


def received_file() -> FileStorage:
    """Return the file of the request, rewound; raise Refusal.

    In the API, the whole body may be the file, so that clients can stream it.
    """
    sent = cast(FairboardRequest, request)
    is_api = request.blueprint == "api"
    file = sent.sent_file if is_api else sent.files.get("file")
    if file is None or not file.filename:
        body = " or as the whole body (`curl -H 'Content-Type: text/csv' --data-binary @FILE`)"
        message = f"No file was received. Send it as the form field `file`{body if is_api else ''}."
        raise Refusal("file_missing", ErrorKind.INVALID, message)
    size_bytes = file.stream.seek(0, os.SEEK_END)
    if size_bytes > g.file_limit_bytes:
        raise file_too_large(g.file_limit_bytes)
    file.stream.seek(0)
    return file


def require_room() -> None:
    """Raise NoSpace before the upload starts if the file would use the reserved disk space.

    If this frees space for blobs, expired and idle announced uploads are deleted first, then rejected files.

    A body over the size limit needs no space, because it will be rejected.
    """
    wanted_bytes = (
        min(request.content_length or 0, request.max_content_length or 0) + middleware.receiving_bytes()
    )
    site = current_site()
    while disk.is_short(site.settings, wanted_bytes=wanted_bytes):
        if not disk.is_short(site.settings, wanted_bytes=wanted_bytes, only_blobs=True):
            raise disk.NoSpace
        with site.database.write() as session:
            names = uploads.forget(session, now=db.now(session), with_idle=True)
        if not blobs.delete_unnamed(
            site.database, site.storage, sorted(names or ()), age=timedelta()
        ) and not rejected_files.delete(site.database, site.storage, kept_for=IDLE_AFTER):
            raise disk.NoSpace


def arrived() -> Upload:
    """Return the file of this request; raise Refusal."""
    file = received_file()
    stream = cast(BinaryIO, file.stream)
    again = request.values.get("again", "").lower() in ("1", "true", "yes", "on")
    size_bytes = stream.seek(0, os.SEEK_END)
    sent = SentFile(sha256_of(file), size_bytes, again, request.headers.get("Idempotency-Key"))
    return Upload(stream, sent, file.filename or "", request.values.get("description", ""))


def require_acceptable(slug: str, upload: Upload) -> Competition:
    """Return the competition; if the upload would not be accepted, raise the reason."""
    with reading() as session:
        state = situation_in(session, slug, file=upload.file)
    if refused := refusal(state):
        raise refused
    return state.competition


def accept(competition: Competition, upload: Upload) -> AcceptedUpload:
    """Store the file, record the submission, then notify the queue; this order prevents data loss."""
    try:
        return _store_and_record(competition, upload)
    except BlobMissing:  # An identical old blob without references was deleted at the same time.
        return _store_and_record(competition, upload)


def _store_and_record(competition: Competition, upload: Upload) -> AcceptedUpload:
    upload.stream.seek(0)
    current_site().storage.put(upload.stream, sha256=upload.file.sha256)
    reach("accept.after_blob")
    with writing() as session:
        accepted = enter(
            session,
            competition,
            file=upload.file,
            file_name=upload.file_name,
            description=upload.description,
        )
    return hinted(accepted)


def keep(competition: Competition, upload: Upload) -> str | None:
    """Store a checked file, and return the token that submits it; None if it was just deleted."""
    site, size_bytes = current_site(), upload.file.size_bytes
    upload.stream.seek(0)
    sha256 = site.storage.put(upload.stream, sha256=upload.file.sha256).sha256
    try:
        with writing() as session:
            blobs.hold(session, storage=site.storage, sha256=sha256)
            token, forgotten = uploads.announce(
                session,
                user=g.user,
                competition=competition,
                name=upload.file_name,
                size_bytes=size_bytes,
                now=db.now(session),
                sha256=sha256,
            )
    except BlobMissing:  # An identical old blob without references was deleted at the same time.
        return None
    delete_unnamed(forgotten)
    return token


def enter_kept(
    session: Any, competition: Competition, token: str, *, again: bool, description: str
) -> AcceptedUpload:
    """Record the submission of an uploaded file, only once for a token. Call `hinted` after the commit.

    Raises UnknownUpload or Refusal.
    """
    upload = uploads.use(session, token=token, user=g.user, competition=competition, now=db.now(session))
    key = uploads.key_of(token)
    file = SentFile(upload.sha256 or "", upload.size_bytes, again=again, idempotency_key=key)
    try:
        return enter(session, competition, file=file, file_name=upload.name, description=description)
    except BlobMissing as error:  # the file was rejected, or its blob is missing after a restore
        raise UnknownUpload from error


def delete_unnamed(names: set[str]) -> None:
    """Delete replaced blobs, so that repeated uploads cannot fill the disk."""
    if names:
        site = current_site()
        blobs.delete_unnamed(site.database, site.storage, sorted(names), age=timedelta())


def accept_again(act: Act, submission_id: int, *, description: str) -> AcceptedUpload:
    """Submit the file of an earlier submission again. Call `hinted` after the transaction's commit.

    Raises UnknownSubmission, or Refusal if the bytes are no longer stored.
    """
    earlier = accepting.get_own(act.session, user=act.user, submission_id=submission_id)
    accepting.require_file(earlier)
    try:
        return enter(
            act.session,
            earlier.competition,
            file=SentFile(earlier.sha256, earlier.size_bytes, again=True),
            file_name=earlier.file_name,
            description=description,
        )
    except BlobMissing as error:  # a rejected file's bytes were deleted at the same time
        message = f"The file of submission #{earlier.id} was rejected and has been deleted."
        raise Refusal("file_deleted", ErrorKind.GONE, message) from error


def enter(
    session: Any, competition: Competition, *, file: SentFile, file_name: str, description: str
) -> AcceptedUpload:
    """Record the submission of a stored file. Call `hinted` after the transaction's commit."""
    blobs.hold(session, storage=current_site().storage, sha256=file.sha256)
    accepted = accepting.accept(
        session,
        competition=competition,
        user=g.user,
        file=file,
        file_name=file_name,
        description=description,
    )
    reach("accept.before_commit")
    return accepted


def hinted(accepted: AcceptedUpload) -> AcceptedUpload:
    """Send the jobs of a committed submission to the queue."""
    reach("accept.after_commit")
    if accepted.is_new:
        UPLOADS.add()
    logs.bind(submission=accepted.submission.id)
    current_site().hints.send(accepted.job_ids)
    reach("accept.before_response")
    return accepted


def check(competition: Competition, upload: Upload) -> CheckerResult | None:
    """Return all problems and notes of a file, or None if there was no time to check it.

    Scoring finds the problems of unchecked files.
    """
    site = current_site()
    with reading() as session:
        names = intake.other_labels(session, competition_id=competition.id)
    version = lookup.live(competition)
    rules = Rules.of(version)
    with site.storage.open(version.solution.row_ids_sha256) as row_ids:
        return checking.check(
            upload.stream,
            row_ids,
            memory_mb=site.settings.scoring_memory_mb,
            metric_settings=rules.as_settings(),
            other_labels=names,
        )
