"""Submit form: check, submission, resubmission of earlier files."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flask import flash, g, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader.models import Submission
from grader.services.competitions import lookup
from grader.services.competitions.metric import Rules
from grader.services.submissions import accepting, refusal, repeats
from grader.services.submissions.repeats import IdenticalFile, SentFile
from grader.services.teams import limits
from grader.worker.checking import CheckerResult
from webapp.http import auth, errors, lookups
from webapp.http.context import reading
from webapp.presentation import formats
from webapp.submissions import own_page, uploads
from webapp.submissions.own_page import FileRefusal
from webapp.submissions.pages import blueprint
from webapp.submissions.uploads import Upload

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
TOLD_HERE = (
    limits.SubmissionLimitReached,
    repeats.IdenticalFile,
    accepting.DescriptionTooLong,
    uploads.FileMissing,
)


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


@blueprint.route("/submit", methods=["GET", "POST"])
@auth.login_required
def submit(slug: str) -> ResponseReturnValue:
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
            return _refused(slug, FileRefusal.for_problems(checked.problems))
        accepted = uploads.accept(competition, upload, was_checked=checked is not None)
    except TOLD_HERE as error:
        return _refused(slug, FileRefusal.of(error))
    if checked is None:
        flash(NOT_CHECKED)
    return _accepted(slug, accepted.submission)


@blueprint.post("/submissions/<int:submission_id>/again")
@auth.login_required
def submit_again(slug: str, submission_id: int) -> ResponseReturnValue:
    """Submit the file of an earlier submission again."""
    try:
        accepted = uploads.accept_again(
            submission_id, slug=slug, description=request.form.get("description", "")
        )
    except TOLD_HERE as error:
        return _refused(slug, FileRefusal.of(error))
    return _accepted(slug, accepted.submission)


def _accepted(slug: str, submission: Submission) -> ResponseReturnValue:
    location = url_for("submissions.show", slug=slug, submission_id=submission.id)
    if errors.wants_json():
        answer = {"id": submission.id, "status": submission.status.value, "location": location}
        return answer, 201, {"Location": location}
    return redirect(location, 303)


def _refused(slug: str, refused: FileRefusal) -> ResponseReturnValue:
    """Return the page with the entered text or, for the page's script, only the rendered reason."""
    g.error_name = refused.name
    if not errors.wants_json():
        return own_page.page(slug, refused), refused.status, refused.headers
    with reading() as session:
        state = lookups.situation_in(session, slug)
    shown = render_template("submissions/refusal.html", refusal=refused, **own_page.context(state))
    answer = {"code": refused.status, "error": refused.name, "message": refused.message}
    return {**answer, **refused.details, "html": shown}, refused.status, refused.headers


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
    html = render_template("submissions/check.html", checked=shown, **own_page.context(state))
    return {"is_clean": shown.is_clean, "html": html}, 200
