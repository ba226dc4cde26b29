"""Solution (page and API): upload, column roles, report, acceptance."""

from dataclasses import replace
from typing import Annotated, Any

from flask import (
    Blueprint,
    Response,
    current_app,
    redirect,
    render_template,
    request,
    send_file,
    url_for,
)
from flask.typing import ResponseReturnValue
from pydantic import Field

from grader import db
from grader.files import ColumnRole
from grader.files.solution.solution import SIZE_CAP
from grader.models import (
    Competition,
    OrganizerJob,
    Role,
)
from grader.services.competitions import metric
from grader.services.competitions.acting import Act
from grader.services.rescoring import versions
from grader.services.site import organizer_jobs
from grader.services.solutions import check_jobs
from grader.services.solutions.check_jobs import CheckParameters, NotAcceptable, Purpose, UploadedFile
from webapp.competitions import wizard_steps
from webapp.competitions.views import CompetitionView
from webapp.competitions.wizard_steps import SOLUTION
from webapp.http import api
from webapp.http import organizer_operations as organizing
from webapp.http.actions import Family
from webapp.http.auth import organizers_only
from webapp.http.context import competition_of, reading
from webapp.http.errors import wants_json
from webapp.http.fields import Answer, Binary, FileForm, Problems, Sent
from webapp.http.organizer_operations import (
    DESK,
    Job,
    Started,
    organizers_operation,
)
from webapp.http.site import current_site
from webapp.solutions import receiving, scored_step
from webapp.solutions.receiving import NamedBlob
from webapp.solutions.solution_view import CheckView, ReportView, check_status, chosen_roles
from webapp.submissions import uploads

blueprint = Blueprint("organize_solution", __name__, url_prefix="/competitions/<slug>/organize/solution")
RESCORING = "organize_rescoring.index"
CHECK = f"{DESK}/solution/<int:job_id>"


class SolutionForm(FileForm):
    """A solution to check; for a published competition, a corrected solution."""

    test: Annotated[Any, Binary] = None
    finds_test: Annotated[
        bool,
        Field(
            description="Whether to compare the ids with test.csv from the data files if none is uploaded."
        ),
    ] = True


class SolutionColumn(Answer):
    """A column of a checked solution, with its role and example values."""

    name: str
    role: ColumnRole
    examples: list[Any]


class SolutionCheck(Answer):
    """A check of a solution: progress, results, and the reason if the solution cannot be accepted."""

    job: Job
    purpose: Purpose
    file_name: str
    size_bytes: int
    test_name: str | None
    problems: Problems
    columns: list[SolutionColumn]
    are_guessed: bool
    report: dict[str, Any] | None
    changes: dict[str, Any] | None
    commitment: str | None
    why_not: Annotated[str | None, Field(description="Null if the solution can be accepted.")]


class SolutionInUse(Answer):
    """The live solution and its report."""

    number: int
    scoring_version: int
    row_count: int
    commitment: str | None
    report: dict[str, Any]


class SolutionAnswer(Answer):
    """The live solution and the newest checks."""

    solution: SolutionInUse | None
    checks: list[SolutionCheck]


class RolesRequest(Sent):
    """New roles for columns; other columns keep their roles."""

    roles: dict[str, ColumnRole]


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str) -> ResponseReturnValue:
    """Show the live solution with its report, the checks, and the upload form."""
    return _index(slug)


@blueprint.get("/<int:job_id>")
@organizers_only(Role.VIEWER)
def show(slug: str, job_id: int) -> ResponseReturnValue:
    """Show the progress of a check, then its report and the roles of the columns."""
    return _show(slug, job_id)


@blueprint.get("/<int:job_id>/status")
@organizers_only(Role.VIEWER)
def status(slug: str, job_id: int) -> ResponseReturnValue:
    """Return the state of a check as JSON."""
    with reading() as session:
        job = _found(session, slug, job_id)[1]
    return check_status(job).make_conditional(request)


@blueprint.get("/<int:job_id>/changes.csv")
@organizers_only(Role.VIEWER)
def changes(slug: str, job_id: int) -> ResponseReturnValue:
    """Send a CSV file with every value that a corrected solution changes."""
    return send_changes(slug, job_id)


def send_changes(slug: str, job_id: int) -> Response:
    """Send a check's changes as a CSV file; raise UnknownOrganizerJob if there are none."""
    with reading() as session:
        _, job = _found(session, slug, job_id)
    sha256 = (job.result or {}).get("changes_sha256")
    if sha256 is None:
        raise organizer_jobs.UnknownOrganizerJob(job_id=job_id)
    name = f"{slug}-changes-{job_id}.csv"
    return send_file(
        current_site().storage.open(sha256), mimetype="text/csv", as_attachment=True, download_name=name
    )


def _found(session: Any, slug: str, job_id: int) -> tuple[Competition, OrganizerJob]:
    competition = competition_of(session, slug)
    return competition, check_jobs.get(session, competition=competition, job_id=job_id)


def _index(slug: str, *, problem: Any = None) -> str:
    with reading() as session:
        competition = competition_of(session, slug)
        now = db.now(session)
        view = CompetitionView(competition, now)
        setup = wizard_steps.wizard(session, competition, now=now, current=SOLUTION)
        checks = check_jobs.newest(session, competition=competition)
        live = competition.live_scoring_version
        chosen = metric.of(competition).form
    return render_template(
        "solutions/solution.html",
        competition=view,
        setup=setup,
        solution=live.solution if live else None,
        sample=scored_step.sample_solution(chosen),
        report=ReportView(live.solution.report) if live else None,
        checks=[CheckView(job) for job in checks],
        file_limit_bytes=SIZE_CAP,
        problem=problem.message if problem else None,
    )


def _show(slug: str, job_id: int, *, problem: Any = None) -> str:
    with reading() as session:
        competition, job = _found(session, slug, job_id)
        now = db.now(session)
        view = CompetitionView(competition, now)
        setup = wizard_steps.wizard(session, competition, now=now, current=SOLUTION)
        why_not = check_jobs.why_not_acceptable(competition, job)
    return render_template(
        "solutions/solution_check.html",
        competition=view,
        setup=setup,
        check=CheckView(job),
        why_not=why_not,
        problem=problem.message if problem else None,
        etag=check_status(job).headers["ETag"],
        rescoring=RESCORING if RESCORING in current_app.view_functions else None,
    )


@api.blueprint.get(f"{DESK}/solution")
@organizers_operation(Role.VIEWER, answers=SolutionAnswer, tag="setup")
def organized_solution(slug: str) -> SolutionAnswer:
    """Return the live solution with its report, and the newest checks."""
    with reading() as session:
        return solution_answer(session, competition_of(session, slug))


@api.blueprint.get(CHECK)
@organizers_operation(Role.VIEWER, answers=SolutionCheck, tag="setup")
def solution_check(slug: str, job_id: int) -> SolutionCheck:
    """Return the progress of the check of a solution, then its report and the roles of the columns."""
    with reading() as session:
        competition = competition_of(session, slug)
        job = check_jobs.get(session, competition=competition, job_id=job_id)
        return _check(competition, job)


@api.blueprint.get(f"{CHECK}/changes.csv")
@organizers_operation(Role.VIEWER, tag="setup", answers_file="text/csv")
def solution_changes(slug: str, job_id: int) -> Response:
    """Return every value that a corrected solution changes as CSV."""
    return send_changes(slug, job_id)


def solution_answer(session: Any, competition: Competition) -> SolutionAnswer:
    checks = check_jobs.newest(session, competition=competition)
    live = competition.live_scoring_version
    return SolutionAnswer(
        solution=SolutionInUse.of(live.solution, scoring_version=live.number) if live else None,
        checks=[_check(competition, job) for job in checks],
    )


def _check(competition: Competition, job: OrganizerJob) -> SolutionCheck:
    """Return a check of a solution as the API model."""
    asked, result = CheckParameters.from_dict(job.parameters), job.result or {}
    return SolutionCheck(
        job=organizing.job(job),
        purpose=asked.purpose,
        file_name=asked.file.name,
        size_bytes=asked.file.size_bytes,
        test_name=asked.test.name if asked.test else None,
        problems=[*job.problems, *result.get("problems", [])],
        columns=[SolutionColumn(**column) for column in result.get("columns", [])],
        are_guessed=result.get("are_guessed", False),
        report=result.get("report"),
        changes=result.get("changes"),
        commitment=check_jobs.commitment(job),
        why_not=check_jobs.why_not_acceptable(competition, job),
    )


ACTIONS = Family(
    pages=blueprint,
    tag="setup",
    refusals=(NotAcceptable,),
    show=_show,
    home=lambda slug, **_: url_for("organize_solution.index", slug=slug),
    answers=SolutionAnswer,
    answer=lambda act, _outcome, **_: solution_answer(act.session, act.competition),
    role=Role.EDITOR,
)


def _started(act: Act, job: OrganizerJob, **_: Any) -> Any:
    return organizing.started(job, url_for("api.solution_check", slug=act.competition.slug, job_id=job.id))


def _show_started(job: OrganizerJob, slug: str, **_: Any) -> ResponseReturnValue:
    location = url_for("organize_solution.show", slug=slug, job_id=job.id)
    if wants_json():
        return {"id": job.id, "location": location}, 201, {"Location": location}
    return redirect(location, 303)


@replace(ACTIONS, show=_index, refusals=(uploads.FileMissing,)).action(
    "",
    page="upload",
    before=receiving.solution,
    shown=_show_started,
    answers=Started,
    answer=_started,
    status=202,
)
def upload_solution(act: Act, sent: SolutionForm, prepared: list[NamedBlob]) -> OrganizerJob:
    """Upload a solution and start its check; for a published competition, a corrected solution."""
    for each in prepared:
        each.hold(act)
    file, *tests = (UploadedFile.of(each.name, each.blob) for each in prepared)
    return check_jobs.add(
        **act.parts, file=file, test=tests[0] if tests else None, finds_test=sent.finds_test
    )


def _entered_roles(act: Act, job_id: int) -> dict[str, Any]:
    """Return the chosen roles; the form's fields are numbered like the columns."""
    job = check_jobs.get(act.session, competition=act.competition, job_id=job_id)
    return {"roles": chosen_roles(job, request.form)}


@ACTIONS.action(
    "/<int:job_id>/roles",
    page="change_roles",
    form=_entered_roles,
    shown=_show_started,
    answers=Started,
    answer=_started,
    status=202,
)
def change_solution_roles(act: Act, sent: RolesRequest, job_id: int) -> OrganizerJob:
    """Check the same file again with other column roles."""
    job = check_jobs.get(act.session, competition=act.competition, job_id=job_id)
    found = {each.name: ColumnRole(each.role) for each in _check(act.competition, job).columns}
    roles = found | {name: role for name, role in sent.roles.items() if name in found}
    return check_jobs.add_again(**act.parts, job=job, roles=roles)


@ACTIONS.action(
    "/<int:job_id>/accept",
    page="accept",
    done="Solution accepted.",
    home=lambda slug, **_: wizard_steps.next_page(SOLUTION, slug),
)
def accept_solution(act: Act, job_id: int) -> None:
    """Accept a checked solution for a draft."""
    versions.accept_check(act, job_id=job_id)


@ACTIONS.action(
    "/<int:job_id>",
    method="DELETE",
    page="dismiss",
    page_path="/<int:job_id>/dismiss",
    done="Check dismissed.",
    status=204,
)
def dismiss_solution_check(act: Act, job_id: int) -> None:
    """Dismiss a check, and stop it if it is running."""
    job = check_jobs.get(act.session, competition=act.competition, job_id=job_id)
    organizer_jobs.dismiss(act.session, job=job, now=act.now)
