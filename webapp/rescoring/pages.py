"""Rescoring pages: version list, and new rescorings from a solution or settings."""

from collections.abc import Iterator
from typing import Any

from flask import Blueprint, Response, render_template, request, stream_with_context
from flask.typing import ResponseReturnValue

from grader import db
from grader.metrics import registry
from grader.models import Competition, Role, ScoringVersion, ScoringVersionState
from grader.services.competitions import lookup, settings_problems
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.acting import Act
from grader.services.competitions.metric import NamedMetric, Rules
from grader.services.competitions.settings_problems import RefusedSettings
from grader.services.rescoring import difference as rescoring_difference
from grader.services.rescoring import preparation
from grader.services.rescoring.difference import Changes, Compared, Preview
from grader.services.solutions import check_jobs
from webapp.competitions import settings_form
from webapp.competitions.settings_form import FORMULA, Group
from webapp.competitions.views import CompetitionView
from webapp.http import lookups
from webapp.http.actions import sentences
from webapp.http.auth import organizers_only
from webapp.http.context import competition_of, reading
from webapp.http.parameters import asked_number, whole_number
from webapp.http.site import current_site
from webapp.rescoring.views import DifferenceView, ProgressView, SettingsCheckView, movement
from webapp.solutions import metrics, receiving
from webapp.solutions.solution_view import check_status

# The settings that a rescoring may change: the identities and the formula of the bias metric, or the options.
OF_BIAS = (Group("Identities in the score", ("identities",)), *FORMULA)
OF_OTHERS = (Group("", ("name", "positive", "cutoff", "weight", "reported")),)
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
        groups = _groups(live.form)
        names = [name for group in groups for name in group.names]
        fields = settings_form.fields_of(used, names, is_sent=problem is not None)
        view = CompetitionView(competition, db.now(session))
    options = metrics.options()
    fitting = live.form.alternatives
    faults = problem.faults if isinstance(problem, RefusedSettings) else ()
    others = settings_form.tell(fields, faults)
    return render_template(
        "rescoring/metric_settings.html",
        competition=view,
        groups=groups,
        metrics={name: options[name] for name in fitting},
        has_metric_file=registry.PYTHON in fitting and receiving.may_upload_metrics(),
        fields=fields,
        problems=others if faults else sentences(problem),
    )


@blueprint.get("/settings/status")
@organizers_only(Role.VIEWER)
def settings_status(slug: str) -> ResponseReturnValue:
    """Return the state of the newest settings check as JSON."""
    with reading() as session:
        job = check_jobs.newest_settings_check(session, competition=competition_of(session, slug))
    return check_status(job).make_conditional(request)


def _groups(metric: NamedMetric) -> tuple[Group, ...]:
    """Return the fields of a metric's settings that a rescoring may change."""
    return OF_BIAS if metric.takes_identities else OF_OTHERS


def entered_settings(act: Act) -> dict[str, Any]:
    """Return the settings entered in the form; raise RefusedSettings."""
    before = competition_settings.of(act.competition)
    names = [name for group in _groups(before.metric_choice.form) for name in group.names]
    changes, faults = settings_problems.read(settings_form.changes(before, names))
    if faults:
        raise RefusedSettings(faults)
    after = before.changed(**changes)
    return {"identities": after.identities or (), "metric": after.metric}


@blueprint.get("/<int:number>/difference")
@organizers_only(Role.VIEWER)
def difference(slug: str, number: int) -> ResponseReturnValue:
    """Show the changes that a version makes to the leaderboards, before and after its publication."""
    with reading() as session:
        competition, version = lookups.scoring_version_of(session, slug, number)
        versions = compared(session, competition, version)
        found = _preview(session, competition, versions)
        view = CompetitionView(competition, db.now(session))
    return render_template(
        "rescoring/difference.html",
        competition=view,
        scoring_version=version,
        difference=DifferenceView(found),
        movement=movement,
        changes=version.solution.report.get("changes") if versions.after is version else None,
    )


@blueprint.get("/<int:number>/submissions.csv")
@organizers_only(Role.VIEWER)
def table(slug: str, number: int) -> ResponseReturnValue:
    """Send the scores of all submissions under both versions as CSV."""
    return send_table(slug, number)


def send_table(slug: str, number: int) -> Response:
    """Stream the scores of all submissions; raise NothingToCompare."""
    database = current_site().database
    with reading() as session:
        competition, version = lookups.scoring_version_of(session, slug, number)
        before, after = (each.number for each in compared(session, competition, version))

    def pieces() -> Iterator[str]:
        with database.read() as session:
            competition, version = lookups.scoring_version_of(session, slug, number)
            versions = compared(session, competition, version)
            yield from rescoring_difference.submissions_csv(
                session, competition=competition, versions=versions
            )

    answer = Response(stream_with_context(pieces()), mimetype="text/csv")
    name = f"{slug}-submissions-v{before}-v{after}.csv"
    answer.headers.set("Content-Disposition", "attachment", filename=name)
    return answer


def _preview(session: Any, competition: Competition, versions: Compared) -> Preview:
    return current_site().differences.preview(session, competition=competition, versions=versions)


def summary(session: Any, competition: Competition, version: ScoringVersion) -> Changes | None:
    """Return a summary of the changes that making a version live would cause; None if it is live."""
    if competition.live_scoring_version_id == version.id:
        return None
    return Changes.of(_preview(session, competition, Compared(lookup.live(competition), version)))


def compared(session: Any, competition: Competition, version: ScoringVersion) -> Compared:
    """Return the versions to compare; raise NothingToCompare."""
    versions = rescoring_difference.versions_of(session, competition=competition, version=version)
    if versions is None:
        raise rescoring_difference.NothingToCompare(version=version)
    return versions
