"""Submit page: upload a file, see its problems, submit it."""

from dataclasses import dataclass, field
from typing import Any

from flask import flash, g, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader.errors import ParticipantError
from grader.models import Submission
from grader.services.quotas import limits
from grader.services.solutions import other_labels
from grader.services.submissions import accepting, repeats
from grader.services.submissions import refusal as rules
from grader.services.submissions.situation import Situation
from grader.services.teams import participations
from webapp.competitions.views import CompetitionView
from webapp.http import auth, errors, lookups
from webapp.http.site import current_site
from webapp.submissions import checking, uploads
from webapp.submissions.allowance import AllowanceView, Clock
from webapp.submissions.pages import blueprint

__all__ = ["blueprint"]

SAMPLE_LINES = 4
NOT_CHECKED = "We had no time to check your file first, so we accepted it and are checking it now."
# What is told on the page itself, with what was typed kept.
TOLD_HERE = (
    limits.LimitReached,
    repeats.IdenticalFile,
    accepting.DescriptionTooLong,
    uploads.FileMissing,
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a file was not submitted: its problems, an earlier file with the same bytes, or another reason."""

    status: int
    name: str
    message: str
    problems: list[dict[str, Any]] = field(default_factory=list)
    identical_to: int | None = None
    details: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, error: ParticipantError) -> "Refusal":
        """Return the refusal for an error."""
        return cls(
            status=errors.status_of(error),
            name=error.public_name,
            message=error.message,
            identical_to=error.submission_id if isinstance(error, repeats.IdenticalFile) else None,
            details=errors.details_of(error),
            headers=errors.headers_of(error),
        )

    @classmethod
    def for_problems(cls, problems: list[dict[str, Any]]) -> "Refusal":
        """Return the refusal of a file that could not be scored."""
        messages = " ".join(problem["message"] for problem in problems)
        return cls(
            422, "file_rejected", f"{messages} No submission used.", problems, details={"problems": problems}
        )


@blueprint.route("/submit", methods=["GET", "POST"])
@auth.login_required
def submit(slug: str) -> ResponseReturnValue:
    """Show the form; or check a file, and submit it if it is clean."""
    if request.method == "GET":
        return _page(slug)
    try:
        upload = uploads.arrived()
        competition = uploads.require_acceptable(slug, upload)
        checked = checking.check_if_free(competition, upload)
        if checked is not None and checked.problems:
            return _refused(slug, Refusal.for_problems(checked.problems))
        accepted = uploads.accept(competition, upload)
    except TOLD_HERE as error:
        return _refused(slug, Refusal.of(error))
    if checked is None:
        flash(NOT_CHECKED)
    return _accepted(slug, accepted.submission)


@blueprint.post("/submissions/<int:submission_id>/again")
@auth.login_required
def submit_again(slug: str, submission_id: int) -> ResponseReturnValue:
    """Submit the bytes of an own submission once more."""
    with current_site().database.read() as session:
        earlier = accepting.get_own(session, user=g.user, submission_id=submission_id)
        if earlier.competition.slug != slug:
            raise accepting.UnknownSubmission(submission_id)
    try:
        accepted = uploads.accept_again(earlier, description=request.form.get("description", ""))
    except TOLD_HERE as error:
        return _refused(slug, Refusal.of(error))
    return _accepted(slug, accepted.submission)


def _accepted(slug: str, submission: Submission) -> ResponseReturnValue:
    location = url_for("submissions.show", slug=slug, submission_id=submission.id)
    if errors.wants_json():
        answer = {"id": submission.id, "status": submission.status.value, "location": location}
        return answer, 201, {"Location": location}
    return redirect(location, 303)


def _refused(slug: str, refusal: Refusal) -> ResponseReturnValue:
    """Answer with the page and the entered text; for its script, with the part that says why."""
    if not errors.wants_json():
        return _page(slug, refusal), refusal.status, refusal.headers
    with current_site().database.read() as session:
        found = lookups.situation_in(session, slug)
    shown = render_template("submissions/refusal.html", slug=slug, refusal=refusal, **_context(found))
    answer = {"code": refusal.status, "error": refusal.name, "message": refusal.message}
    return {**answer, **refusal.details, "html": shown}, refusal.status, refusal.headers


def _page(slug: str, refusal: Refusal | None = None) -> str:
    site = current_site()
    with site.database.read() as session:
        found = lookups.situation_in(session, slug)
        view = CompetitionView(found.competition, found.now)
        file_limit_bytes = accepting.size_cap(found.competition)
        names = other_labels.names(session, competition_id=found.competition.id)
    refused = rules.refusal(found)
    entry_fault = refused.message if isinstance(refused, participations.EntryRefused) else None
    with site.storage.open(view.sample_submission_sha256) as sample:
        first_lines = [sample.readline(200).decode(errors="replace") for _ in range(SAMPLE_LINES)]
    return render_template(
        "submissions/submit.html",
        slug=slug,
        competition=view,
        refusal=refusal,
        takes_files=refused is None or isinstance(refused, limits.LimitReached | participations.EntryRefused),
        is_test=found.is_test,
        entry_fault=entry_fault,
        clock=Clock.of(found.competition, found.now),
        sample="".join(first_lines),
        file_limit_bytes=file_limit_bytes,
        other_labels=names,
        **_context(found),
    )


def _context(found: Situation) -> dict[str, Any]:
    return {
        "allowance": AllowanceView(found.allowance),
        "description": request.form.get("description", ""),
    }
