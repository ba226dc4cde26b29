"""API for organizers: search submissions, diagnose one."""

from typing import Any

from flask import Response, url_for

from grader.models import Role
from grader.reports import html_page
from grader.services.moderation import diagnoses, submission_search
from grader.services.moderation.submission_search import Wanted
from webapp.http import organizer_operations as organizing
from webapp.http.api import blueprint, ending
from webapp.http.context import competition_of, reading
from webapp.http.organizer_operations import DESK, Confirmation, Started, act, organizers_operation
from webapp.http.site import current_site
from webapp.organizers.console import answers
from webapp.organizers.console.answers import (
    Diagnosis,
    DiagnosisRequest,
    EqualFileList,
    OrganizersSubmissionList,
    ReportQuery,
    SubmissionQuery,
)

TAG = "running"
SUBMISSIONS = f"{DESK}/submissions"
SUBMISSION = f"{SUBMISSIONS}/<int:submission_id>"
DIAGNOSIS = f"{SUBMISSION}/diagnosis"


@blueprint.get(SUBMISSIONS)
@organizers_operation(Role.VIEWER, answers=OrganizersSubmissionList, tag=TAG)
def organized_submissions(slug: str, query: SubmissionQuery) -> OrganizersSubmissionList:
    """List the submissions of all teams that are asked for, the newest first."""
    wanted = Wanted(status=query.state, kind=query.kind, team_id=query.team, text=query.q)
    with reading() as session:
        competition = competition_of(session, slug)
        found = submission_search.find_after(session, competition=competition, wanted=wanted, part=query.part)
    return OrganizersSubmissionList(
        submissions=[answers.submission(line) for line in found.rows], **ending(found)
    )


@blueprint.get(f"{SUBMISSIONS}/equal-files")
@organizers_operation(Role.VIEWER, answers=EqualFileList, tag=TAG)
def equal_file_list(slug: str) -> EqualFileList:
    """List the files that more than one team sent."""
    with reading() as session:
        groups = submission_search.equal_files(session, competition=competition_of(session, slug))
    return EqualFileList(files=[answers.equal_file(group) for group in groups])


@blueprint.get(DIAGNOSIS)
@organizers_operation(Role.VIEWER, answers=Diagnosis, tag=TAG)
def organized_diagnosis(slug: str, submission_id: int) -> Diagnosis:
    """Return the newest diagnosis of a submission, or how far it is."""
    return _diagnosis(slug, submission_id)


@blueprint.post(DIAGNOSIS)
@organizers_operation(Role.EDITOR, answers=Started, status=202, tag=TAG)
def diagnose_submission(slug: str, submission_id: int, json: DiagnosisRequest) -> Any:
    """Diagnose a submission, and compare it with another one if that is named."""
    job = act(slug, diagnoses.request, submission_id=submission_id, against_id=json.against)
    return organizing.started(job, url_for("api.organized_diagnosis", slug=slug, submission_id=submission_id))


@blueprint.post(f"{DIAGNOSIS}/publish")
@organizers_operation(Role.EDITOR, answers=Diagnosis, tag=TAG)
def publish_diagnosis(slug: str, submission_id: int, json: Confirmation) -> Diagnosis:
    """Let everybody see the diagnosis of a submission that counted."""
    act(slug, diagnoses.publish, submission_id=submission_id)
    return _diagnosis(slug, submission_id)


@blueprint.get(f"{DIAGNOSIS}.html")
@organizers_operation(Role.VIEWER, tag=TAG, answers_file="text/html")
def diagnosis_page(slug: str, submission_id: int, query: ReportQuery) -> Response:
    """Return one split of a diagnosis as a page that needs nothing else."""
    with reading() as session:
        competition = competition_of(session, slug)
        diagnoses.get(session, competition=competition, submission_id=submission_id)
        job = diagnoses.newest(session, competition=competition, submission_id=submission_id)
    reports = diagnoses.reports(current_site().storage, job)
    if query.split.value not in reports:
        raise diagnoses.NoDiagnosis(submission_id=submission_id)
    answer = Response(html_page(reports[query.split.value]), mimetype="text/html")
    name = f"diagnosis-{submission_id}-{query.split.value}.html"
    answer.headers.set("Content-Disposition", "attachment", filename=name)
    return answer


def _diagnosis(slug: str, submission_id: int) -> Diagnosis:
    with reading() as session:
        competition = competition_of(session, slug)
        diagnoses.get(session, competition=competition, submission_id=submission_id)
        job = diagnoses.newest(session, competition=competition, submission_id=submission_id)
    reports = diagnoses.reports(current_site().storage, job)
    return Diagnosis(
        job=organizing.job(job) if job else None,
        is_published=job is not None and diagnoses.is_published(job),
        is_current=job is not None and diagnoses.is_current(job, competition),
        reports={split: report.as_dict() for split, report in reports.items()},
    )
