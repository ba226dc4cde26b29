"""Submit a file from the page of a team's submissions; check one before; submit old bytes once more."""

import os

from flask import flash, g, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader.models import Submission
from grader.services.competitions import lookup
from grader.services.limits import limits
from grader.services.submissions import accepting, refusal, repeats
from grader.services.submissions.repeats import SentFile
from webapp.http import auth, errors, lookups
from webapp.http.site import current_site
from webapp.presentation import formats
from webapp.submissions import checking, own_page, uploads
from webapp.submissions.check_steps import checked_file
from webapp.submissions.own_page import Refusal
from webapp.submissions.pages import blueprint
from webapp.submissions.uploads import Upload

__all__ = ["blueprint"]

NOT_CHECKED = "We had no time to check your file first, so we accepted it and are checking it now."
# What is told on the page itself, with what was typed kept.
TOLD_HERE = (
    limits.LimitReached,
    repeats.IdenticalFile,
    accepting.DescriptionTooLong,
    uploads.FileMissing,
)


@blueprint.route("/submit", methods=["GET", "POST"])
@auth.login_required
def submit(slug: str) -> ResponseReturnValue:
    """Lead to the page with the form; or check a file, and submit it if it is clean and that is wanted."""
    if request.method == "GET":
        return redirect(url_for("submissions.index", slug=slug))
    try:
        upload = uploads.arrived()
        if request.form.get("check") == "only":
            return _checked(slug, upload)
        competition = uploads.require_acceptable(slug, upload)
        checked = checking.check_if_free(competition, upload)
        if checked is not None and checked.problems:
            return _refused(slug, Refusal.for_problems(checked.problems))
        accepted = uploads.accept(competition, upload, was_checked=checked is not None)
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
            raise accepting.UnknownSubmission(submission_id=submission_id)
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


def _refused(slug: str, told: Refusal) -> ResponseReturnValue:
    """Answer with the page and the entered text; for its script, with the part that says why."""
    if not errors.wants_json():
        return own_page.page(slug, told), told.status, told.headers
    with current_site().database.read() as session:
        found = lookups.situation_in(session, slug)
    shown = render_template("submissions/refusal.html", refusal=told, **own_page.context(found))
    answer = {"code": told.status, "error": told.name, "message": told.message}
    return {**answer, **told.details, "html": shown}, told.status, told.headers


def _checked(slug: str, upload: Upload) -> ResponseReturnValue:
    """Answer the page's script with what a check finds in a file, without using a submission."""
    with current_site().database.read() as session:
        found = lookups.situation_in(session, slug, file=SentFile(upload.sha256))
    refused = refusal.refusal(found)
    if refused is not None and not isinstance(refused, repeats.IdenticalFile):
        raise refused
    checked = checking.check_if_free(found.competition, upload)
    cap, size_bytes = accepting.size_cap(found.competition), upload.stream.seek(0, os.SEEK_END)
    shown = checked_file(
        checked,
        size=f"{formats.size(size_bytes)} of at most {formats.size(cap)}",
        row_count=lookup.live(found.competition).solution.row_count,
        refused=refused,
    )
    html = render_template("submissions/check.html", checked=shown, **own_page.context(found))
    return {"is_clean": shown.is_clean, "html": html}, 200
