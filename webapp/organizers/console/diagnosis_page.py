"""Organizers' page of a submission's diagnosis: request it, see its tables and charts, publish it."""

from flask import Response, flash, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import OrganizerJob, Role
from grader.reports import html_page
from grader.services.jobs import organizer_jobs
from grader.services.moderation import diagnoses
from grader.services.moderation.decisions import UnknownSubmissionHere
from webapp.competitions.views import CompetitionView
from webapp.http.auth import organizers_only
from webapp.http.context import actor, competition_of, reading, writing
from webapp.http.errors import status_of, wants_json
from webapp.http.parameters import UnreadableEntry, entered_number
from webapp.http.site import current_site
from webapp.organizers.closing.pages import NotConfirmed, require_confirmed
from webapp.organizers.closing.views import JobView
from webapp.organizers.console.submissions_page import blueprint

REFUSALS = (diagnoses.NothingToCompareWith, diagnoses.NotScored, UnknownSubmissionHere, UnreadableEntry)
HERE = "/<int:submission_id>/diagnosis"


@blueprint.get(HERE)
@organizers_only(Role.VIEWER)
def diagnosis(slug: str, submission_id: int) -> ResponseReturnValue:
    """Show the newest diagnosis of a submission, one split at a time."""
    return _page(slug, submission_id)


@blueprint.post(HERE)
@organizers_only(Role.EDITOR)
def diagnose(slug: str, submission_id: int) -> ResponseReturnValue:
    """Have a submission diagnosed, and compared with another one if that is named."""
    try:
        with writing() as session:
            diagnoses.request(
                session,
                competition=competition_of(session, slug),
                submission_id=submission_id,
                against_id=entered_number("against"),
                actor=actor(),
                now=db.now(session),
            )
    except REFUSALS as error:
        if wants_json():
            raise
        return _page(slug, submission_id, problem=error.message), status_of(error)
    flash("Diagnosis started.")
    return redirect(url_for(".diagnosis", slug=slug, submission_id=submission_id), 303)


@blueprint.post(f"{HERE}/publish")
@organizers_only(Role.EDITOR)
def publish_diagnosis(slug: str, submission_id: int) -> ResponseReturnValue:
    """Let everybody see the diagnosis of a submission that counted."""
    try:
        require_confirmed()
        with writing() as session:
            diagnoses.publish(
                session,
                competition=competition_of(session, slug),
                submission_id=submission_id,
                actor=actor(),
                now=db.now(session),
            )
    except (diagnoses.NotPublishable, NotConfirmed) as error:
        if wants_json():
            raise
        return _page(slug, submission_id, problem=error.message), 409
    flash("The diagnosis is public.")
    return redirect(url_for("leaderboards.diagnosis", slug=slug, submission_id=submission_id), 303)


@blueprint.get(f"{HERE}/status")
@organizers_only(Role.VIEWER)
def diagnosis_status(slug: str, submission_id: int) -> ResponseReturnValue:
    """Return the state of a submission's newest diagnosis as JSON."""
    with reading() as session:
        competition = competition_of(session, slug)
        diagnoses.get(session, competition=competition, submission_id=submission_id)
        job = diagnoses.newest(session, competition=competition, submission_id=submission_id)
    return _status(job).make_conditional(request)


@blueprint.get(f"{HERE}.<any(json, html):form>")
@organizers_only(Role.VIEWER)
def diagnosis_file(slug: str, submission_id: int, form: str) -> Response:
    """Download a diagnosis: all of it as JSON, or one split as a page that needs nothing else."""
    with reading() as session:
        competition = competition_of(session, slug)
        diagnoses.get(session, competition=competition, submission_id=submission_id)
        job = diagnoses.newest(session, competition=competition, submission_id=submission_id)
    reports = diagnoses.reports(current_site().storage, job)
    if not reports:
        raise diagnoses.NoDiagnosis(submission_id=submission_id)
    name = f"diagnosis-{submission_id}"
    if form == "json":
        answer = jsonify({split: report.as_dict() for split, report in reports.items()})
    else:
        split = _split()
        answer = Response(html_page(reports[split]), mimetype="text/html")
        name = f"{name}-{split}"
    answer.headers.set("Content-Disposition", "attachment", filename=f"{name}.{form}")
    return answer


def _page(slug: str, submission_id: int, *, problem: str = "") -> str:
    with reading() as session:
        competition = competition_of(session, slug)
        submission = diagnoses.get(session, competition=competition, submission_id=submission_id)
        job = diagnoses.newest(session, competition=competition, submission_id=submission_id)
        view = CompetitionView(competition, db.now(session))
    reports = diagnoses.reports(current_site().storage, job)
    split = _split()
    return render_template(
        "running/diagnosis.html",
        competition=view,
        submission=submission,
        job=JobView(job) if job else None,
        can_publish=job is not None
        and bool(reports)
        and view.is_revealed
        and not diagnoses.is_published(job),
        is_published=job is not None and diagnoses.is_published(job),
        is_current=job is not None and diagnoses.is_current(job, competition),
        splits=list(reports),
        split=split,
        report=reports.get(split),
        etag=_status(job).headers["ETag"],
        problem=problem,
    )


def _split() -> str:
    return "private" if request.args.get("split") == "private" else "public"


def _status(job: OrganizerJob | None) -> Response:
    answer = jsonify(
        {
            "is_final": job is None or not organizer_jobs.is_open(job),
            "id": job.id if job else None,
            "state": job.state.value if job else None,
            "progress": job.progress if job else None,
        }
    )
    answer.add_etag()
    return answer
