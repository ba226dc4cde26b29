"""Organizers' page of the solution: upload, column roles, report, accept."""

from typing import Any

from flask import (
    Blueprint,
    Response,
    current_app,
    flash,
    jsonify,
    redirect,
    render_template,
    request,
    send_file,
    url_for,
)
from flask.typing import ResponseReturnValue

from grader import db
from grader.files.solution.solution import SIZE_CAP
from grader.models import Competition, OrganizerJob, Role
from grader.services.jobs import organizer_jobs
from grader.services.rescoring import versions
from grader.services.solutions import checks as solution_checks
from grader.services.solutions.checks import NotAcceptable
from webapp.competitions.views import CompetitionView
from webapp.http.auth import organizers_only
from webapp.http.context import actor, competition_of, reading, writing
from webapp.http.errors import status_of, wants_json
from webapp.http.site import current_site
from webapp.organizers.setup import receiving, wizard_steps
from webapp.organizers.setup.solution_view import ROLES, CheckView, ReportView, check_json, chosen_roles
from webapp.organizers.setup.wizard_steps import SOLUTION
from webapp.submissions import uploads

blueprint = Blueprint("organize_solution", __name__, url_prefix="/competitions/<slug>/organize/solution")
RESCORING = "organize_rescoring.index"


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str) -> ResponseReturnValue:
    """Show the solution in use with its report, the checks, and the form for another file."""
    return _index(slug)


@blueprint.post("")
@organizers_only(Role.EDITOR)
def upload(slug: str) -> ResponseReturnValue:
    """Store a solution, and test.csv if it came too, and have it checked."""
    try:
        job = receiving.add_solution(slug)
    except uploads.FileMissing as error:
        if wants_json():
            raise
        return _index(slug, problem=error.message), status_of(error)
    location = url_for(".show", slug=slug, job_id=job.id)
    if wants_json():
        return {"id": job.id, "location": location}, 201, {"Location": location}
    return redirect(location, 303)


@blueprint.get("/<int:job_id>")
@organizers_only(Role.VIEWER)
def show(slug: str, job_id: int) -> ResponseReturnValue:
    """Show how far a check is, then its report and the roles of the columns."""
    return _show(slug, job_id)


@blueprint.get("/<int:job_id>/status")
@organizers_only(Role.VIEWER)
def status(slug: str, job_id: int) -> ResponseReturnValue:
    """Return the state of a check as JSON."""
    with reading() as session:
        job = _found(session, slug, job_id)[1]
    return _status(job).make_conditional(request)


@blueprint.post("/<int:job_id>/roles")
@organizers_only(Role.EDITOR)
def change_roles(slug: str, job_id: int) -> ResponseReturnValue:
    """Check the same file again with the roles that were chosen."""
    with writing() as session:
        competition, job = _found(session, slug, job_id)
        again = solution_checks.add_again(
            session,
            competition=competition,
            job=job,
            roles=chosen_roles(job, request.form),
            canaries=receiving.asked_canaries(request.form),
            actor=actor(),
            now=db.now(session),
        )
    return redirect(url_for(".show", slug=slug, job_id=again.id), 303)


@blueprint.post("/<int:job_id>/accept")
@organizers_only(Role.EDITOR)
def accept(slug: str, job_id: int) -> ResponseReturnValue:
    """Make a checked solution the draft's."""
    try:
        with writing() as session:
            versions.accept_check(
                session,
                competition=competition_of(session, slug),
                job_id=job_id,
                actor=actor(),
                now=db.now(session),
            )
    except NotAcceptable as error:
        if wants_json():
            raise
        return _show(slug, job_id, problem=error.message), status_of(error)
    flash("Solution accepted.")
    return redirect(wizard_steps.next_page(SOLUTION, slug), 303)


@blueprint.post("/<int:job_id>/dismiss")
@organizers_only(Role.EDITOR)
def dismiss(slug: str, job_id: int) -> ResponseReturnValue:
    """Put a check away; one under way ends."""
    with writing() as session:
        _, job = _found(session, slug, job_id)
        organizer_jobs.dismiss(session, job=job, now=db.now(session))
    flash("Check dismissed.")
    return redirect(url_for(".index", slug=slug), 303)


@blueprint.get("/<int:job_id>/changes.csv")
@organizers_only(Role.VIEWER)
def changes(slug: str, job_id: int) -> ResponseReturnValue:
    """Send every value that a corrected solution changes."""
    return send_changes(slug, job_id)


def send_changes(slug: str, job_id: int) -> Response:
    """Send the table of a check's changes; raise UnknownOrganizerJob where it has none."""
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
    return competition, solution_checks.get(session, competition=competition, job_id=job_id)


def _status(job: OrganizerJob) -> Response:
    answer = jsonify(check_json(job))
    answer.add_etag()
    return answer


def _index(slug: str, *, problem: str | None = None) -> str:
    with reading() as session:
        competition = competition_of(session, slug)
        now = db.now(session)
        view = CompetitionView(competition, now)
        setup = wizard_steps.wizard(session, competition, now=now, current=SOLUTION)
        checks = solution_checks.newest(session, competition=competition)
        live = competition.live_scoring_version
    return render_template(
        "setup/solution.html",
        competition=view,
        setup=setup,
        solution=live.solution if live else None,
        report=ReportView(live.solution.report) if live else None,
        checks=[CheckView(job) for job in checks],
        file_limit_bytes=SIZE_CAP,
        problem=problem,
    )


def _show(slug: str, job_id: int, *, problem: str | None = None) -> str:
    with reading() as session:
        competition, job = _found(session, slug, job_id)
        now = db.now(session)
        view = CompetitionView(competition, now)
        setup = wizard_steps.wizard(session, competition, now=now, current=SOLUTION)
        why_not = solution_checks.why_not_acceptable(competition, job)
    return render_template(
        "setup/solution_check.html",
        competition=view,
        setup=setup,
        check=CheckView(job),
        roles=ROLES,
        why_not=why_not,
        problem=problem,
        etag=_status(job).headers["ETag"],
        rescoring=RESCORING if RESCORING in current_app.view_functions else None,
    )
