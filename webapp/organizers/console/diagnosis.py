"""Submission diagnosis (page and API): request, show, publish."""

from typing import Any

from flask import Response, jsonify, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import OrganizerJob, Role, Split, Submission
from grader.reports import Analysis, html_page
from grader.services.competitions.acting import Act
from grader.services.moderation import diagnoses
from grader.services.moderation.decisions import UnknownSubmissionHere
from webapp.competitions.views import CompetitionView
from webapp.http import api
from webapp.http import organizer_operations as organizing
from webapp.http.actions import Family
from webapp.http.auth import organizers_only
from webapp.http.confirmation import Question, confirm
from webapp.http.context import competition_of, reading
from webapp.http.fields import Answer, Confirmation, Number, Sent
from webapp.http.organizer_operations import (
    DESK,
    Job,
    organizers_operation,
)
from webapp.http.site import current_site
from webapp.organizers.closing.views import JobView, job_status
from webapp.organizers.console.submissions import blueprint

HERE = "/<int:submission_id>/diagnosis"
OPERATION = f"{DESK}/submissions{HERE}"


class DiagnosisRequest(Sent):
    """The submission to compare with, if any."""

    against: Number | None = None


class Diagnosis(Answer):
    """The newest diagnosis of a submission, by split."""

    job: Job | None
    is_published: bool
    is_current: bool
    reports: dict[str, Any]


class ReportQuery(Sent):
    """The split of a diagnosis page."""

    split: Split = Split.PUBLIC


@blueprint.get(HERE)
@organizers_only(Role.VIEWER)
def diagnosis(slug: str, submission_id: int, *, problem: Any = None) -> str:
    """Show the newest diagnosis of a submission, one split at a time."""
    with reading() as session:
        competition = competition_of(session, slug)
        submission, job = _newest(session, slug, submission_id)
        view = CompetitionView(competition, db.now(session))
        is_available = diagnoses.is_available(competition)
    reports = diagnoses.reports(current_site().storage, job)
    split, is_published = _split(), job is not None and diagnoses.is_published(job)
    return render_template(
        "console/diagnosis.html",
        competition=view,
        submission=submission,
        job=JobView(job) if job else None,
        why_not="" if is_available else diagnoses.OtherMetric.message,
        can_publish=bool(reports) and view.is_revealed and not is_published,
        is_published=is_published,
        is_current=job is not None and diagnoses.is_current(job, competition),
        splits=list(reports),
        split=split,
        report=reports.get(split),
        etag=_status(job).headers["ETag"],
        token=_question(slug, submission_id, job).token_at(
            url_for(".publish_diagnosis", slug=slug, submission_id=submission_id)
        ),
        problem=problem.message if problem else "",
    )


@blueprint.get(f"{HERE}/status")
@organizers_only(Role.VIEWER)
def diagnosis_status(slug: str, submission_id: int) -> ResponseReturnValue:
    """Return the state of a submission's newest diagnosis as JSON."""
    with reading() as session:
        job = _newest(session, slug, submission_id)[1]
    return _status(job).make_conditional(request)


@blueprint.get(f"{HERE}.<any(json, html):form>")
@organizers_only(Role.VIEWER)
def diagnosis_file(slug: str, submission_id: int, form: str) -> Response:
    """Download a diagnosis: both splits as JSON, or one split as a self-contained HTML page."""
    reports = _reports(slug, submission_id)
    if form == "html":
        return _report(reports, submission_id, _split())
    if not reports:
        raise diagnoses.NoDiagnosis(submission_id=submission_id)
    answer = jsonify({split: report.as_dict() for split, report in reports.items()})
    answer.headers.set("Content-Disposition", "attachment", filename=f"diagnosis-{submission_id}.json")
    return answer


@api.blueprint.get(OPERATION)
@organizers_operation(Role.VIEWER, answers=Diagnosis, tag="running")
def organized_diagnosis(slug: str, submission_id: int) -> Diagnosis:
    """Return the newest diagnosis of a submission, or its progress."""
    with reading() as session:
        return _diagnosis(*_newest(session, slug, submission_id))


@api.blueprint.get(f"{OPERATION}.html")
@organizers_operation(Role.VIEWER, tag="running", answers_file="text/html")
def diagnosis_page(slug: str, submission_id: int, query: ReportQuery) -> Response:
    """Return one split of a diagnosis as a self-contained HTML page."""
    return _report(_reports(slug, submission_id), submission_id, query.split.value)


def _newest(session: Any, slug: str, submission_id: int) -> tuple[Submission, OrganizerJob | None]:
    """Return a submission and its newest diagnosis; raise UnknownSubmissionHere."""
    competition = competition_of(session, slug)
    submission = diagnoses.get(session, competition=competition, submission_id=submission_id)
    return submission, diagnoses.newest(session, competition=competition, submission_id=submission_id)


def _reports(slug: str, submission_id: int) -> dict[str, Analysis]:
    with reading() as session:
        job = _newest(session, slug, submission_id)[1]
    return diagnoses.reports(current_site().storage, job)


def _report(reports: dict[str, Analysis], submission_id: int, split: str) -> Response:
    if split not in reports:
        raise diagnoses.NoDiagnosis(submission_id=submission_id)
    answer = Response(html_page(reports[split]), mimetype="text/html")
    name = f"diagnosis-{submission_id}-{split}.html"
    answer.headers.set("Content-Disposition", "attachment", filename=name)
    return answer


def _diagnosis(submission: Submission, job: OrganizerJob | None) -> Diagnosis:
    reports = diagnoses.reports(current_site().storage, job)
    return Diagnosis(
        job=organizing.job(job) if job else None,
        is_published=job is not None and diagnoses.is_published(job),
        is_current=job is not None and diagnoses.is_current(job, submission.competition),
        reports={split: report.as_dict() for split, report in reports.items()},
    )


def _split() -> str:
    return "private" if request.args.get("split") == "private" else "public"


def _status(job: OrganizerJob | None) -> Response:
    return job_status(job, id=job.id if job else None)


def _question(slug: str, submission_id: int, job: OrganizerJob | None) -> Question:
    """Return the question that the checkbox of the form confirms."""
    return Question(
        heading="Publish the diagnosis?",
        sentences=("Everyone will see the diagnosis of this submission.",),
        button="Publish the diagnosis",
        back=url_for("organize_submissions.diagnosis", slug=slug, submission_id=submission_id),
        state=f"diagnosis {job.id if job else None}",
        is_final=True,
    )


DIAGNOSES = Family(
    pages=blueprint,
    tag="running",
    refusals=(
        diagnoses.NothingToCompareWith,
        diagnoses.OtherMetric,
        diagnoses.NotScored,
        diagnoses.NotPublishable,
        UnknownSubmissionHere,
    ),
    show=diagnosis,
    home=lambda slug, submission_id: url_for(
        "organize_submissions.diagnosis", slug=slug, submission_id=submission_id
    ),
    answers=Diagnosis,
    answer=lambda act, _outcome, submission_id: _diagnosis(
        *_newest(act.session, act.competition.slug, submission_id)
    ),
    role=Role.EDITOR,
)


@DIAGNOSES.action(
    HERE,
    page="diagnose",
    done="Diagnosis started.",
    **organizing.starts("api.organized_diagnosis"),
)
def diagnose_submission(act: Act, sent: DiagnosisRequest, submission_id: int) -> OrganizerJob:
    """Diagnose a submission, optionally in comparison with another one."""
    return diagnoses.request(act, submission_id=submission_id, against_id=sent.against)


@DIAGNOSES.action(
    f"{HERE}/publish",
    page="publish_diagnosis",
    done="The diagnosis is public.",
    home=lambda slug, submission_id: url_for(
        "leaderboards.diagnosis", slug=slug, submission_id=submission_id
    ),
)
def publish_diagnosis(act: Act, sent: Confirmation, submission_id: int) -> None:
    """Publish the diagnosis of a submission that competed."""
    diagnoses.publish(act, submission_id=submission_id)
    _, job = _newest(act.session, act.competition.slug, submission_id)
    confirm(_question(act.competition.slug, submission_id, job))
