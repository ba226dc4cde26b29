"""Kaggle protocol: uploads received whole, submission, list, details, remaining limits."""

from collections.abc import Mapping
from typing import Any

from flask import g, request
from flask.typing import ResponseReturnValue

from grader import db
from grader.errors import ErrorKind, Refusal
from grader.models import AnnouncedUpload, Competition, Split, Submission, SubmissionStatus
from grader.services.competitions import lookup, phases
from grader.services.identity import api_tokens
from grader.services.leaderboards import submission_results
from grader.services.leaderboards.submission_results import SplitResult
from grader.services.site.paging import Part
from grader.services.submissions import accepting
from grader.services.submissions import uploads as announced
from grader.services.submissions.accepting import Opened
from grader.services.submissions.refusal import refusal
from grader.storage import blobs
from grader.storage.stores import BlobMissing, StorageUnavailable, StoredBlob
from grader.visibility import Viewer, visible_fields
from webapp.http import lookups
from webapp.http.context import competition_of, reading, situation_in, writing
from webapp.http.errors import file_too_large
from webapp.http.site import current_site
from webapp.kaggle_protocol.protocol import (
    Fields,
    act,
    address,
    blueprint,
    page_address,
    read,
    time_text,
)
from webapp.submissions import uploads

PAGE_SIZE = 200  # the command requests only the first page
NO_LIMIT = 9_999
INCOMPLETE = 308
STATUSES = {
    SubmissionStatus.PENDING: "PENDING",
    SubmissionStatus.SCORED: "COMPLETE",
    SubmissionStatus.REJECTED: "ERROR",
    SubmissionStatus.FAILED: "ERROR",
}
FAILED = "Scoring this file failed because of an error on our side. The organizers can see the error."


@act(
    "StartSubmissionUpload",
    old=[
        "POST /competitions/<slug>/submissions/url/<int:length>/<modified>",
        "POST /competitions/submission-url",
    ],
)
def start_submission_upload(sent: Fields) -> ResponseReturnValue:
    """Announce a submission; raise Refusal if it is too large or any file would be rejected."""
    size_bytes = sent.content_length  # the field is missing for an empty file
    with writing() as session:
        state = situation_in(session, sent.competition_name)
        if refused := refusal(state):
            raise refused
        limit_bytes = accepting.size_cap(state.competition)
        if size_bytes > limit_bytes:
            raise file_too_large(limit_bytes)
        token, forgotten = announced.announce(
            session,
            user=g.user,
            competition=state.competition,
            name=sent.file_name,
            size_bytes=size_bytes,
            now=db.now(session),
        )
    uploads.delete_unnamed(forgotten)
    return {"token": token, "createUrl": address("kaggle.receive", token=token)}


@blueprint.before_request
def set_limit() -> None:
    """Set the body limit of an upload to its announced size; raise UnknownUpload or NoSpace."""
    if request.endpoint != "kaggle.receive" or request.method != "PUT":
        return
    upload = _get_upload()
    g.file_limit_bytes = upload.size_bytes
    request.max_content_length = upload.size_bytes + 1  # a stream of exactly the limit would be rejected
    uploads.require_room()


@blueprint.put("/uploads/<token>")
def receive(token: str) -> ResponseReturnValue:
    """Store the file, or return whether it is stored; the command asks after an interruption."""
    upload = _get_upload()
    size = upload.size_bytes
    wanted = request.headers.get("Content-Range")
    if wanted == f"bytes */{size}" or upload.used_at is not None:
        # Without a range in the response, the command sends the whole file.
        return {}, 200 if upload.sha256 else INCOMPLETE
    if wanted not in (None, f"bytes 0-{size - 1}/{size}"):
        message = f"An upload cannot be resumed. Send the whole file of {size:,} bytes again."
        raise Refusal("unreadable_range", ErrorKind.INVALID, message)
    file = current_site().storage.put(request.stream, max_bytes=size)
    superfluous = {file.sha256, *([upload.sha256] if upload.sha256 else [])}
    try:
        with writing() as session:
            _hold(session, file)
            upload = announced.receive(session, token=token, file=file, now=db.now(session))
        superfluous -= {upload.sha256 or ""}
    finally:
        uploads.delete_unnamed(superfluous)
    return {}, 200


def _get_upload() -> AnnouncedUpload:
    with reading() as session:
        return announced.find(session, token=(request.view_args or {})["token"], now=db.now(session))


@act("CreateSubmission", old=["POST /competitions/submissions/submit/<slug>"])
def create_submission(sent: Fields) -> ResponseReturnValue:
    """Submit an uploaded file; repeated requests for the same upload submit it only once.

    A file that the team has already submitted is accepted, as on Kaggle.
    """
    with writing() as session:
        competition = competition_of(session, sent.competition_name)
        if sent.sandbox and g.organizer_role is None:
            message = "Only organizers can send test submissions (--sandbox)."
            raise Refusal("no_sandbox", ErrorKind.FORBIDDEN, message)
        accepted = uploads.enter_kept(
            session,
            competition,
            sent.blob_file_tokens,
            again=True,
            description=sent.submission_description,
        )
    uploads.hinted(accepted)
    kind = "test submission" if g.organizer_role else "submission"
    message = f"Successfully submitted to {competition.title} as {kind} #{accepted.submission.id}.\n"
    return {"message": message, "ref": accepted.submission.id}


@read(
    "ListSubmissions",
    old=["GET /competitions/submissions/list/<slug>"],
    as_before=lambda answer: [{**each, "status": each["status"].lower()} for each in answer["submissions"]],
)
def list_submissions(session: Any, sent: Fields) -> ResponseReturnValue:
    """Return the team's submissions, newest first, with the visible scores."""
    part = Part(sent.page_token or None, sent.size(PAGE_SIZE))
    competition = competition_of(session, sent.competition_name)
    submissions = accepting.slice_of(session, team=lookups.own_team(session, competition), part=part)
    ids = [each.id for each in submissions.rows]
    # In a team's list, even organizers see only what the team sees.
    results = _results(session, competition, ids, Viewer.TEAM) if ids else {}
    listed = [submission_line(each, results.get(each.id, {})) for each in submissions.rows]
    return {"submissions": listed, "nextPageToken": str(submissions.following or "")}


@read("GetSubmission")
def get_submission(session: Any, sent: Fields) -> ResponseReturnValue:
    """Return a submission of the user's team, or of a competition that the user organizes."""
    opened = open_submission(session, sent.ref)
    own = opened.submission
    return submission_line(own, _results(session, own.competition, [own.id], opened.viewer)[own.id])


@read("GetSubmissionLimits")
def get_submission_limits(session: Any, sent: Fields) -> ResponseReturnValue:
    """Return how many submissions the team has used, and how many files it may submit now."""
    state = situation_in(session, sent.competition_name)
    left = state.allowance.left
    allowed = NO_LIMIT if left is None or state.is_test else left
    return {
        "numToday": state.allowance.used_today,
        "numTotal": state.allowance.used_total,
        "numAllowedNow": 0 if refusal(state) is not None else allowed,
        "limitedByTotal": state.allowance.left_total is not None and state.allowance.left_total == left,
    }


def open_submission(session: Any, submission_id: int) -> Opened:
    """Open a submission, within the competition to which the token is bound."""
    opened = lookups.open_submission(session, submission_id)
    if g.token.competition_id is not None:
        api_tokens.require_submission(session, g.token, submission_id=submission_id)
    return opened


def submission_line(submission: Submission, results: Mapping[Split, SplitResult]) -> dict[str, Any]:
    """Return a submission with the given scores; its description also includes its errors."""
    fault = _fault(submission)
    public, private = results.get(Split.PUBLIC), results.get(Split.PRIVATE)
    slug = submission.competition.slug
    return {
        "ref": submission.id,
        "fileName": submission.file_name,
        "date": time_text(submission.submitted_at),
        "description": " | ".join(filter(None, (submission.description, fault))),
        "status": STATUSES[submission.status],
        "errorDescription": fault,
        "publicScore": public.score if public else "",
        "privateScore": private.score if private else "",
        "totalBytes": submission.size_bytes,
        "submittedBy": submission.user.name,
        "submittedByRef": submission.user.name,
        "teamName": submission.team.name,
        "url": page_address("submissions.show", slug=slug, submission_id=submission.id),
        "size": None,
    }


def _results(
    session: Any, competition: Competition, ids: list[int], viewer: Viewer
) -> dict[int, dict[Split, SplitResult]]:
    phase = phases.phase(competition, db.now(session))
    return submission_results.split_results_of(
        session,
        submission_ids=ids,
        version=lookup.live(competition),
        allowed=visible_fields(viewer, phase, competition.feedback),
    )


def _fault(submission: Submission) -> str:
    """Return the problems of a file, at most the first three."""
    if submission.status is SubmissionStatus.FAILED:
        return str(submission.problems[0]["message"]) if submission.problems else FAILED
    if submission.status is not SubmissionStatus.REJECTED:
        return ""
    messages = [str(problem["message"]) for problem in submission.problems]
    more = f" And {len(messages) - 3} more problems." if len(messages) > 3 else ""
    return " ".join(messages[:3]) + more


def _hold(session: Any, blob: StoredBlob) -> None:
    """Protect a blob; if it has just been deleted, fail so that the command sends the file again."""
    try:
        blobs.hold(session, storage=current_site().storage, sha256=blob.sha256)
    except BlobMissing as error:
        raise StorageUnavailable(str(error)) from error
