"""Kaggle protocol: submission, list, details, download, remaining limits."""

from collections.abc import Callable, Mapping
from typing import Any

from flask import Response, g
from flask.typing import ResponseReturnValue

from grader import db
from grader.errors import ErrorKind, Refusal
from grader.models import Competition, Split, Submission, SubmissionStatus
from grader.services.competitions import lookup, phases
from grader.services.identity import api_tokens
from grader.services.identity.api_tokens import Scope
from grader.services.leaderboards import submission_results
from grader.services.leaderboards.submission_results import SplitResult
from grader.services.submissions import accepting, viewers
from grader.services.submissions import uploads as announced
from grader.services.submissions.refusal import refusal
from grader.services.submissions.uploads import UnknownUpload
from grader.services.submissions.viewers import Opened
from grader.storage.stores import BlobMissing
from grader.visibility import Viewer, visible_fields
from webapp.http import lookups, responses
from webapp.http.context import competition_of, reading, writing
from webapp.http.site import current_site
from webapp.kaggle_protocol.protocol import (
    COMPETITIONS,
    SentFields,
    asked_paging,
    call,
    next_token,
    not_offered,
    page_address,
    time_text,
)
from webapp.kaggle_protocol.signed_files import offer, sender
from webapp.kaggle_protocol.uploads import whole_upload
from webapp.submissions import uploads

PAGE_SIZE = 200  # the command requests only the first page
NO_LIMIT = 9_999
STATUSES = {
    SubmissionStatus.PENDING: "PENDING",
    SubmissionStatus.SCORED: "COMPLETE",
    SubmissionStatus.REJECTED: "ERROR",
    SubmissionStatus.FAILED: "ERROR",
}
FAILED = "Scoring this file failed because of an error on our side. The organizers can see the error."


@call(COMPETITIONS, "CreateSubmission", Scope.SUBMIT)
def create_submission(sent: SentFields) -> ResponseReturnValue:
    """Submit an uploaded file; repeated requests for the same upload submit it only once.

    A file that the team has already submitted is accepted, as on Kaggle.
    """
    token, is_test = sent.text("blobFileTokens"), sent.flag("sandbox", default=False)
    try:
        with writing() as session:
            competition = competition_of(session, sent.text("competitionName"))
            if is_test and g.organizer_role is None:
                message = (
                    "Only organizers can send test submissions (--sandbox), which do not count toward "
                    "any limit and do not compete. To find problems in a file without using a "
                    "submission, check it on the Submissions page."
                )
                raise Refusal("no_sandbox", ErrorKind.FORBIDDEN, message)
            upload, blob = whole_upload(session, token, competition=competition)
            accepted = uploads.enter(
                session,
                competition,
                blob=blob,
                file_name=upload.name,
                description=sent.text("submissionDescription"),
                again=True,
                idempotency_key=announced.key_of(token),
            )
            announced.note_use(session, token=token, now=db.now(session))
    except BlobMissing as error:  # the file was rejected, or its blob is missing after a restore
        raise UnknownUpload from error
    uploads.hinted(accepted)
    kind = "test submission" if g.organizer_role else "submission"
    message = f"Successfully submitted to {competition.title} as {kind} #{accepted.submission.id}.\n"
    return {"message": message, "ref": accepted.submission.id}


@call(COMPETITIONS, "CreateCodeSubmission", Scope.SUBMIT)
def create_code_submission(sent: SentFields) -> ResponseReturnValue:
    """Reject code submissions, because notebooks are not supported."""
    return not_offered("Code submissions are not supported. Upload a file with predictions instead.")


@call(COMPETITIONS, "ListSubmissions")
def list_submissions(sent: SentFields) -> ResponseReturnValue:
    """Return the team's submissions, newest first, with the visible scores."""
    page, size = asked_paging(sent, usual_size=PAGE_SIZE)
    with reading() as session:
        competition = competition_of(session, sent.text("competitionName"))
        team = lookups.own_team(session, competition)
        part = accepting.list_of(session, team=team, page=page, page_size=size)
        results = _results(session, competition, [each.id for each in part.rows]) if part.rows else {}
        listed = [submission_line(each, results.get(each.id, {})) for each in part.rows]
    return {"submissions": listed, "nextPageToken": next_token(part.page, part.page_count)}


@call(COMPETITIONS, "GetSubmission")
def get_submission(sent: SentFields) -> ResponseReturnValue:
    """Return a submission of the user's team, or of a competition that the user organizes."""
    with reading() as session:
        opened = _opened(session, sent.number("ref") or 0)
        own = opened.submission
        allowed = _allowed(session, own.competition, opened.viewer)
        version = lookup.live(own.competition)
        results = submission_results.split_results(session, submission=own, version=version, allowed=allowed)
        return submission_line(own, results)


@call(COMPETITIONS, "DownloadSubmission")
def download_submission(sent: SentFields) -> ResponseReturnValue:
    """Redirect to a submission's original file."""
    with reading() as session:
        opened = _opened(session, sent.number("submissionId") or 0)
        own = opened.submission
        accepting.require_file(own)
        return offer("submission", own.competition, own.file_name.replace("/", "_"), version=str(own.id))


@sender("submission")
def send_submission(session: Any, _: Competition, name: str, version: str) -> Callable[[], Response]:
    """Send the file of a submission."""
    own = viewers.open_submission(session, user=g.user, submission_id=int(version)).submission
    accepting.require_file(own)
    sha256, modified = own.sha256, own.submitted_at
    return lambda: responses.send(
        current_site().storage.open(sha256), name=name, etag=sha256, modified=modified
    )


@call(COMPETITIONS, "GetSubmissionLimits")
def get_submission_limits(sent: SentFields) -> ResponseReturnValue:
    """Return how many submissions the team has used, and how many files it may submit now."""
    with reading() as session:
        state = lookups.situation_in(session, sent.text("competitionName"))
    left = state.allowance.left
    allowed = NO_LIMIT if left is None or state.is_test else left
    return {
        "numToday": state.allowance.used_today,
        "numTotal": state.allowance.used_total,
        "numAllowedNow": 0 if refusal(state) is not None else allowed,
        "limitedByTotal": state.allowance.left_total is not None and state.allowance.left_total == left,
    }


def _opened(session: Any, submission_id: int) -> Opened:
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


def _results(session: Any, competition: Competition, ids: list[int]) -> dict[int, dict[Split, SplitResult]]:
    """Return the results in a team's list, where even organizers see only what the team sees."""
    allowed = _allowed(session, competition, Viewer.TEAM)
    return submission_results.split_results_of(
        session, submission_ids=ids, version=lookup.live(competition), allowed=allowed
    )


def _allowed(session: Any, competition: Competition, viewer: Viewer) -> Any:
    phase = phases.phase(competition, db.now(session))
    return visible_fields(viewer, phase, competition.feedback)


def _fault(submission: Submission) -> str:
    """Return the problems of a file, at most the first three."""
    if submission.status is SubmissionStatus.FAILED:
        return str(submission.problems[0]["message"]) if submission.problems else FAILED
    if submission.status is not SubmissionStatus.REJECTED:
        return ""
    messages = [str(problem["message"]) for problem in submission.problems]
    more = f" And {len(messages) - 3} more problems." if len(messages) > 3 else ""
    return " ".join(messages[:3]) + more
