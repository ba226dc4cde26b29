"""Rescoring pages: version list, and new rescorings from a solution or settings."""

from typing import Any

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.errors import OrganizerError
from grader.models import Competition, Role, ScoringVersionState
from grader.services.competitions import lookup
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.metric import Rules
from grader.services.rescoring import preparation
from grader.services.solutions import check_jobs
from grader.services.solutions.check_jobs import NotAcceptable
from grader.services.solutions.intake import StoredSolution
from webapp.competitions.views import CompetitionView
from webapp.http.auth import organizers_only
from webapp.http.context import act_on, actor, competition_of, reading, writing
from webapp.http.errors import status_of, wants_json
from webapp.http.parameters import asked_number, entered_number
from webapp.organizers.rescoring.views import ProgressView, SettingsCheckView
from webapp.organizers.setup import forms
from webapp.organizers.setup.forms import SettingsForm
from webapp.organizers.setup.solution_view import check_status
from webapp.organizers.setup.wizard_steps import RESCORING

blueprint = Blueprint("organize_rescoring", __name__, url_prefix="/competitions/<slug>/organize/rescoring")


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str) -> ResponseReturnValue:
    """List the scoring versions, with the forms to start a rescoring."""
    return _index(slug)


@blueprint.post("")
@organizers_only(Role.EDITOR)
def prepare(slug: str) -> ResponseReturnValue:
    """Start a rescoring with a checked solution or checked settings."""
    try:
        with writing() as session:
            competition = competition_of(session, slug)
            solution, changes = checked_solution(
                session,
                competition,
                solution_check=entered_number("solution") or 0,
                settings_check=entered_number("settings"),
            )
            version = preparation.prepare(
                session,
                competition=competition,
                solution=solution,
                reason=request.form.get("reason", ""),
                changes=changes,
                actor=actor(),
            )
    except OrganizerError as error:
        if wants_json():
            raise
        return _index(slug, problem=error.message), status_of(error)
    flash(f"Scoring version {version.number} is being prepared. The leaderboards do not change yet.")
    return redirect(url_for(".show", slug=slug, number=version.number), 303)


@blueprint.get("/settings")
@organizers_only(Role.EDITOR)
def settings(slug: str) -> ResponseReturnValue:
    """Show the settings that a rescoring may change."""
    return _settings(slug)


@blueprint.post("/settings")
@organizers_only(Role.EDITOR)
def check_settings(slug: str) -> ResponseReturnValue:
    """Start a check of changed settings against the live solution."""
    with writing() as session:
        act = act_on(session, slug)
        before = competition_settings.of(act.competition)
        form = forms.form_of(RESCORING, before, is_sent=True)
        changes, problem = form.changes(before), ""
        if not form.errors:
            rules = Rules(identities=changes["identities"] or (), metric=changes["metric"])
            try:
                check_jobs.add_settings_check(**act.parts, rules=rules)
            except NotAcceptable as error:
                problem = error.message
    if problem or form.errors:
        return _settings(slug, problem=problem, form=form), 422
    flash("The settings are being checked against the live solution.")
    return redirect(url_for(".index", slug=slug), 303)


@blueprint.get("/settings/status")
@organizers_only(Role.VIEWER)
def settings_status(slug: str) -> ResponseReturnValue:
    """Return the state of the newest settings check as JSON."""
    with reading() as session:
        job = check_jobs.newest_settings_check(session, competition=competition_of(session, slug))
    return check_status(job).make_conditional(request)


def checked_solution(
    session: Any, competition: Competition, *, solution_check: int, settings_check: int | None
) -> tuple[StoredSolution, dict[str, Any] | None]:
    """Return the solution to rescore with, and its corrections; None if only settings changed."""
    if settings_check:
        return check_jobs.accepted_settings(session, competition=competition, job_id=settings_check), None
    solution = check_jobs.accepted(session, competition=competition, job_id=solution_check)
    check = check_jobs.get(session, competition=competition, job_id=solution_check)
    return solution, {**(check.result["changes"] or {}), "check": solution_check}


def _settings(slug: str, *, problem: str = "", form: SettingsForm | None = None) -> str:
    with reading() as session:
        competition = competition_of(session, slug)
        if form is None:
            live = Rules.from_dict(lookup.live(competition).metric_settings)
            in_use = competition_settings.of(competition)
            form = forms.form_of(RESCORING, in_use.changed(identities=live.identities, metric=live.metric))
        view = CompetitionView(competition, db.now(session))
    return render_template(
        "rescoring/metric_settings.html",
        competition=view,
        step=RESCORING,
        form=form,
        problems=[problem] if problem else [],
    )


def _index(slug: str, *, problem: str | None = None) -> str:
    with reading() as session:
        competition = competition_of(session, slug)
        versions = preparation.list_all(session, competition=competition)
        preparing = next((each for each in versions if each.state is ScoringVersionState.PREPARING), None)
        progress = preparing and preparation.progress(session, scoring_version_id=preparing.id)
        checks = [
            job
            for job in check_jobs.newest(session, competition=competition)
            if check_jobs.why_not_acceptable(competition, job) is None
        ]
        settings_check = (
            check_jobs.newest_settings_check(session, competition=competition) if preparing is None else None
        )
        live = competition.live_scoring_version
        view = CompetitionView(competition, db.now(session))
    return render_template(
        "rescoring/versions.html",
        competition=view,
        versions=versions,
        preparing=preparing,
        progress=progress and ProgressView(progress),
        checks=checks,
        settings_check=settings_check and SettingsCheckView.of(settings_check, live),
        settings_etag=check_status(settings_check).headers["ETag"],
        chosen=entered_number("solution") or asked_number("solution") or (checks[0].id if checks else None),
        reason=request.form.get("reason", ""),
        problem=problem,
    )
