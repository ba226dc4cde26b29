"""Upload of a file: check, submission, resubmission of earlier files."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from flask import flash, g, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader.errors import ErrorKind, ParticipantError, Refusal
from grader.services.competitions import lookup
from grader.services.competitions.acting import Act
from grader.services.competitions.metric import Rules
from grader.services.identity.api_tokens import Scope
from grader.services.submissions import accepting, refusal, repeats
from grader.services.submissions.accepting import AcceptedUpload
from grader.services.submissions.repeats import IdenticalFile, SentFile
from grader.worker.checking import CheckerResult
from webapp.http import api, auth, errors, lookups
from webapp.http.api import operation
from webapp.http.context import reading
from webapp.http.fields import FileForm
from webapp.presentation import formats
from webapp.submissions import answers, own_page, uploads
from webapp.submissions.answers import Accepted, Checked, DescribeRequest, SubmissionForm
from webapp.submissions.pages import ONE, TAG, blueprint, submission
from webapp.submissions.uploads import Upload
from webapp.surface import after_commit

READABLE, HEADER, IDS, PREDICTIONS = "readable", "header", "ids", "predictions"
# Check step of each problem code. Codes that are not listed belong to READABLE.
STEPS = {
    HEADER: (
        "wrong_header missing_column unexpected_column duplicate_column "
        "index_column wrong_delimiter comment_line separator_line repeated_header"
    ),
    IDS: (
        "missing_row_id duplicate_row_id unknown_id not_an_id empty_id scientific_id invisible_character "
        "too_many_rows no_rows"
    ),
    PREDICTIONS: (
        "not_a_number decimal_comma empty_prediction nan_prediction infinite_prediction "
        "missing_prediction too_large field_too_long out_of_range unknown_class unsuitable_prediction"
    ),
}
_STEP_OF = {code: step for step, codes in STEPS.items() for code in codes.split()}
_OF_IDS = frozenset({"missing_row_id", "no_rows"})
__all__ = ["blueprint"]
NOT_CHECKED = "Your file was accepted before it could be checked. The check is in progress."
# These errors are shown on the page itself, which keeps the entered text.
SHOWN_HERE = (ErrorKind.INVALID, ErrorKind.CONFLICT, ErrorKind.LIMITED, ErrorKind.MISMATCH)


class FileHasProblems(ParticipantError):
    """A file with problems, which was not submitted."""

    public_name = "file_rejected"
    kind = ErrorKind.MISMATCH

    def __init__(self, problems: list[dict[str, Any]]) -> None:
        super().__init__(f"{' '.join(each['message'] for each in problems)} No submission was used.")
        self.problems = problems

    @property
    def details(self) -> Mapping[str, Any]:
        return {"problems": self.problems}


@dataclass(frozen=True, slots=True)
class CheckStep:
    """One step of a check; `state` is `done`, `bad`, or empty if the step could not be checked."""

    words: str
    state: str


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """The result of a check before submission; `identical` is a file of the team with the same bytes."""

    steps: tuple[CheckStep, ...]
    problems: Sequence[dict[str, Any]]
    notes: Sequence[dict[str, Any]]
    identical: IdenticalFile | None
    was_read: bool

    @property
    def is_clean(self) -> bool:
        """Whether the file can be submitted unchanged."""
        return not self.problems and self.identical is None


def checked_file(
    checked: CheckerResult | None,
    *,
    size: str,
    row_count: int,
    are_numbers: bool,
    refused: IdenticalFile | None,
) -> CheckedFile:
    """Return the steps of a check; `checked` is None if there was no time to read the file.

    Steps after a failed one have no state if they could not be checked.
    """
    problems = checked.problems if checked else []
    bad = {_STEP_OF.get(problem["code"], READABLE) for problem in problems}
    ids = f"{_found(row_count, problems):,} of {row_count:,} ids" if IDS in bad else f"All {row_count:,} ids"
    values = "Predictions are numbers" if are_numbers else "Predictions are valid"
    words = {READABLE: "Readable as CSV", HEADER: "Header", IDS: ids, PREDICTIONS: values}
    steps, is_open = [CheckStep(size, "done")], checked is None
    for step, named in words.items():
        steps.append(CheckStep(named, "bad" if step in bad else "" if is_open else "done"))
        is_open = is_open or (step in bad and step in (READABLE, HEADER))
    steps.append(CheckStep("Not submitted before", "bad" if refused else "done"))
    notes = checked.notes if checked else []
    return CheckedFile(tuple(steps), problems, notes, refused, checked is not None)


def _found(row_count: int, problems: Sequence[dict[str, Any]]) -> int:
    """Return the number of expected ids in a file."""
    return row_count - sum(int(problem["count"]) for problem in problems if problem["code"] in _OF_IDS)


@blueprint.route("/submit", endpoint="submit", methods=["GET", "POST"])
@auth.login_required
def submit_form(slug: str) -> ResponseReturnValue:
    """Redirect to the Submissions page, check a file, or submit it if it has no problems."""
    if request.method == "GET":
        return redirect(url_for("submissions.index", slug=slug))
    try:
        upload = uploads.arrived()
        if request.form.get("check") == "only":
            return _checked(slug, upload)
        competition = uploads.require_acceptable(slug, upload)
        checked = uploads.check_if_free(competition, upload)
        if checked is not None and checked.problems:
            raise FileHasProblems(checked.problems)
        accepted = uploads.accept(competition, upload, was_checked=checked is not None)
    except ParticipantError as error:
        if error.kind not in SHOWN_HERE:
            raise
        return _refused(slug, error)
    if checked is None:
        flash(NOT_CHECKED)
    sent = accepted.submission
    location = url_for("submissions.show", slug=slug, submission_id=sent.id)
    if errors.wants_json():
        answer = {"id": sent.id, "status": sent.status.value, "location": location}
        return answer, 201, {"Location": location}
    return redirect(location, 303)


@api.blueprint.post("/competitions/<slug>/submissions")
@operation(Scope.SUBMIT, answers=Accepted, status=201, tag=TAG, takes_file=SubmissionForm, keeps_key=True)
def submit(slug: str) -> Any:
    """Submit a file to be checked and scored. A repeated `Idempotency-Key` returns 200."""
    upload = uploads.arrived()
    accepted = uploads.accept(uploads.require_acceptable(slug, upload), upload)
    answer = _answer(accepted)
    return answer, 201 if accepted.is_new else 200, {"Location": answer.url}


@api.blueprint.post("/competitions/<slug>/check")
@operation(Scope.SUBMIT, answers=Checked, tag=TAG, takes_file=FileForm)
def check(slug: str) -> Checked:
    """Return all problems of a file without using a submission."""
    upload = uploads.arrived()
    with reading() as session:
        state = lookups.situation_in(session, slug)
    checked = uploads.check(state.competition, upload)
    if checked is None:
        raise Refusal(
            "busy",
            ErrorKind.NOT_YET,
            "Too many files are being checked right now. Try again in a few seconds, or submit the file: "
            "every submitted file is checked.",
            retry_after=timedelta(seconds=5),
        )
    return Checked(
        is_clean=not checked.problems,
        problems=checked.problems,
        notes=checked.notes,
        limits=answers.allowance(state.allowance),
    )


@ONE.act(
    "/submissions/<int:submission_id>/again",
    form="submit_again",
    back=own_page.submission_list,
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
    return Accepted(
        id=accepted.submission.id,
        status=accepted.submission.status,
        url=url_for("api.submission", submission_id=accepted.submission.id),
        limits=answers.allowance(accepted.allowance),
    )


def _refused(slug: str, error: ParticipantError) -> ResponseReturnValue:
    """Return the page with the entered text or, for the page's script, only the rendered reason."""
    g.error_name, status, headers = error.public_name, errors.status_of(error), errors.headers_of(error)
    if not errors.wants_json():
        return own_page.submission_list.page(error, slug=slug), status, headers  # type: ignore[return-value]
    with reading() as session:
        state = lookups.situation_in(session, slug)
    shown = render_template("submissions/refusal.html", **own_page.context(state, error))
    answer = {"code": status, "error": error.public_name, "message": error.message}
    return {**answer, **errors.details_of(error), "html": shown}, status, headers


def _checked(slug: str, upload: Upload) -> ResponseReturnValue:
    """Return the result of checking a file to the page's script, without using a submission."""
    with reading() as session:
        state = lookups.situation_in(session, slug, file=SentFile(upload.sha256))
    refused = refusal.refusal(state)
    if refused is not None and not isinstance(refused, repeats.IdenticalFile):
        raise refused
    checked = uploads.check_if_free(state.competition, upload)
    version = lookup.live(state.competition)
    cap, size_bytes = accepting.size_cap(state.competition), upload.stream.seek(0, os.SEEK_END)
    shown = checked_file(
        checked,
        size=f"{formats.size(size_bytes)} (limit: {formats.size(cap)})",
        row_count=version.solution.row_count,
        are_numbers=Rules.of(version).columns.is_single_number,
        refused=refused,
    )
    html = render_template("submissions/check.html", checked=shown, **own_page.context(state, None))
    return {"is_clean": shown.is_clean, "html": html}, 200
