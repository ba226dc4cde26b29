"""Rescoring pages: version list, and new rescorings from a solution or settings."""

from dataclasses import replace
from typing import Any

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from grader import db
from grader.metrics import registry
from grader.models import Role, ScoringVersionState
from grader.services.competitions import lookup
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.acting import Act
from grader.services.competitions.metric import AnyMetric, NamedMetric, Rules
from grader.services.competitions.settings_problems import InvalidCompetition
from grader.services.rescoring import preparation
from grader.services.solutions import check_jobs
from webapp.competitions.views import CompetitionView
from webapp.http.actions import sentences
from webapp.http.auth import organizers_only
from webapp.http.context import competition_of, reading
from webapp.http.parameters import asked_number, whole_number
from webapp.organizers.rescoring.views import ProgressView, SettingsCheckView
from webapp.organizers.setup import forms, receiving, scored_step
from webapp.organizers.setup.solution_view import check_status
from webapp.organizers.setup.wizard_steps import RESCORING, SettingsStep

OTHER_METRIC = (("", ("name", "positive", "cutoff", "weight", "reported")),)
blueprint = Blueprint("organize_rescoring", __name__, url_prefix="/competitions/<slug>/organize/rescoring")


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str, *, problem: Any = None) -> str:
    """List the scoring versions, with the forms to start a rescoring and their entered values."""
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
        check_job = None if preparing else check_jobs.newest_settings_check(session, competition=competition)
        settings_check = check_job and SettingsCheckView(check_job, lookup.live(competition))
        view = CompetitionView(competition, db.now(session))
    return render_template(
        "rescoring/versions.html",
        competition=view,
        versions=versions,
        preparing=preparing,
        progress=progress and ProgressView(progress),
        checks=checks,
        settings_check=settings_check,
        settings_etag=check_status(check_job).headers["ETag"],
        chosen=whole_number(request.form.get("solution", ""))
        or asked_number("solution")
        or (checks[0].id if checks else None),
        reason=request.form.get("reason", ""),
        problem=problem.message if problem else "",
    )


@blueprint.get("/settings")
@organizers_only(Role.EDITOR)
def settings(slug: str, *, problem: Any = None) -> str:
    """Show the settings that a rescoring may change, with the entered values after an error."""
    with reading() as session:
        competition = competition_of(session, slug)
        live = Rules.of(lookup.live(competition))
        in_use = competition_settings.of(competition)
        used = in_use.changed(identities=live.identities, metric=live.metric)
        step = _step(live.metric)
        form = forms.form_of(step, used, is_sent=problem is not None)
        view = CompetitionView(competition, db.now(session))
    options = scored_step.options()
    fitting = live.metric.alternatives if isinstance(live.metric, NamedMetric) else {}
    if problem is not None:
        form.changes(used)  # finds the errors of the fields
    return render_template(
        "rescoring/metric_settings.html",
        competition=view,
        step=step,
        metrics={name: options[name] for name in fitting},
        has_metric_file=registry.PYTHON in fitting and receiving.may_upload_metrics(),
        form=form,
        problems=[] if form.errors else sentences(problem),
    )


@blueprint.get("/settings/status")
@organizers_only(Role.VIEWER)
def settings_status(slug: str) -> ResponseReturnValue:
    """Return the state of the newest settings check as JSON."""
    with reading() as session:
        job = check_jobs.newest_settings_check(session, competition=competition_of(session, slug))
    return check_status(job).make_conditional(request)


def _step(metric: AnyMetric) -> SettingsStep:
    """Return the fields of a metric's settings that a rescoring may change."""
    return replace(RESCORING, groups=OTHER_METRIC) if isinstance(metric, NamedMetric) else RESCORING


def entered_settings(act: Act) -> dict[str, Any]:
    """Return the settings entered in the form; raise InvalidCompetition."""
    before = competition_settings.of(act.competition)
    form = forms.form_of(_step(before.metric), before, is_sent=True)
    changes = form.changes(before)
    if form.errors:
        raise InvalidCompetition([sentence for field in form for sentence in field.errors])
    return {"identities": changes.get("identities") or (), "metric": changes["metric"]}
