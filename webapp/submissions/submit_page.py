"""Upload of a file: check, submission, resubmission of earlier files."""

from datetime import timedelta
from typing import Any

from flask import redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader.errors import ErrorKind, ParticipantError, Refusal
from grader.services.competitions import lookup
from grader.services.competitions.acting import Act
from grader.services.identity.api_tokens import Scope
from grader.services.submissions import refusal
from grader.services.submissions.accepting import AcceptedUpload
from grader.services.submissions.situation import SentFile
from webapp.http import api, errors
from webapp.http.api import operation
from webapp.http.context import competition_of, reading, situation_in, writing
from webapp.http.fields import FileForm
from webapp.submissions import submission_list, uploads
from webapp.submissions.api_models import Accepted, Checked, DescribeRequest, SubmissionForm
from webapp.submissions.pages import ONE, TAG, blueprint, submission
from webapp.submissions.uploads import Upload
from webapp.surface import ELSEWHERE, after_commit

__all__ = ["blueprint"]


@blueprint.route("/submit", endpoint="submit", methods=["GET", "POST"])
def submit_form(slug: str) -> ResponseReturnValue:
    """Redirect to the Submissions page, or check or submit a file."""
    if request.method == "GET":
        return redirect(url_for("submissions.index", slug=slug))
    try:
        if request.form.get("check") == "only":
            return _checked(slug, uploads.arrived())
        token = request.form.get("upload")
        accepted = _accept_kept(slug, token) if token else _accept_sent(slug)
    except ParticipantError as error:
        if error.kind in ELSEWHERE:
            raise
        return _refused(slug, error)
    sent = accepted.submission
    location = url_for("submissions.show", slug=slug, submission_id=sent.id)
    if errors.wants_json():
        answer = {"id": sent.id, "status": sent.status.value, "location": location}
        return answer, 201, {"Location": location}
    return redirect(location, 303)


def _accept_sent(slug: str) -> AcceptedUpload:
    """Submit the file of this request."""
    upload = uploads.arrived()
    return uploads.accept(uploads.require_acceptable(slug, upload), upload)


def _accept_kept(slug: str, token: str) -> AcceptedUpload:
    """Submit a file that was sent when it was checked."""
    with writing() as session:
        competition = competition_of(session, slug)
        accepted = uploads.enter_kept(
            session, competition, token, again=False, description=request.form.get("description", "")
        )
    return uploads.hinted(accepted)


@api.blueprint.post("/competitions/<slug>/submissions")
@operation(Scope.SUBMIT, answers=Accepted, status=201, tag=TAG, takes=SubmissionForm, keeps_key=True)
def submit(slug: str) -> Any:
    """Submit a file to be checked and scored. A repeated `Idempotency-Key` returns 200."""
    accepted = _accept_sent(slug)
    answer = _answer(accepted)
    return answer, 201 if accepted.is_new else 200, {"Location": answer.url}


@api.blueprint.post("/competitions/<slug>/check")
@operation(Scope.SUBMIT, answers=Checked, tag=TAG, takes=FileForm)
def check(slug: str) -> Checked:
    """Return all problems of a file without using a submission."""
    upload = uploads.arrived()
    with reading() as session:
        state = situation_in(session, slug)
    checked = uploads.check(state.competition, upload)
    if checked is None:
        raise Refusal(
            "busy",
            ErrorKind.NOT_YET,
            "Too many files are being checked right now. Try again in a few seconds, or submit the file: "
            "every submitted file is checked.",
            retry_after=timedelta(seconds=5),
        )
    return Checked.of(checked, is_clean=not checked.problems, limits=state.allowance)


@ONE.act(
    "/submissions/<int:submission_id>/again",
    form="submit_again",
    back=submission_list.submission_list,
    done=lambda accepted, slug, **_: ("", submission.url(slug=slug, submission_id=accepted.id)),
    answers=Accepted,
    status=201,
)
def submit_again(act: Act, sent: DescribeRequest, submission_id: int) -> Accepted:
    """Submit the file of an earlier submission again."""
    accepted = uploads.accept_again(act, submission_id, description=sent.description)
    after_commit(uploads.hinted, accepted)
    return _answer(accepted)


def _answer(accepted: AcceptedUpload) -> Accepted:
    """Return the response to an accepted file."""
    return Accepted.of(
        accepted.submission,
        url=url_for("api.submission", submission_id=accepted.submission.id),
        limits=accepted.allowance,
    )


def _refused(slug: str, error: ParticipantError) -> ResponseReturnValue:
    """Return the page with the entered text or, for the page's script, only the rendered reason."""
    if not errors.wants_json():
        return submission_list.submission_list.refused(error, slug=slug)
    with reading() as session:
        state = situation_in(session, slug)
    html = render_template("submissions/refusal.html", **submission_list.context(state, error))
    return errors.fairboard_error(error, html=html)


def _checked(slug: str, upload: Upload) -> ResponseReturnValue:
    """Return the result of checking a file to the page's script, without using a submission.

    A file without problems is stored, and its token submits it, so that it is sent only once.
    """
    with reading() as session:
        state = situation_in(session, slug, file=SentFile(upload.file.sha256, upload.file.size_bytes))
    refused = refusal.refusal(state)
    if refused is not None and not isinstance(refused, refusal.IdenticalFile):
        raise refused
    checked = uploads.check(state.competition, upload)
    html = render_template(
        "submissions/check.html",
        checked=checked,
        identical=refused,
        row_count=lookup.live(state.competition).solution.row_count,
        **submission_list.context(state, None),
    )
    is_clean = refused is None and not (checked and checked.problems)
    token = uploads.keep(state.competition, upload) if is_clean and checked else None
    return {"is_clean": is_clean, "html": html, "upload": token}, 200
