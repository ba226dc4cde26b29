"""Rescoring: scoring versions, how far one is, what it would change, publishing it and rolling back."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

from flask import (
    Blueprint,
    Response,
    flash,
    jsonify,
    redirect,
    render_template,
    request,
    stream_with_context,
    url_for,
)
from flask.typing import ResponseReturnValue

from grader import db
from grader.errors import OrganizerError
from grader.models import Competition, Role, ScoringVersion
from grader.services import (
    competition_settings,
    competitions,
    rescoring,
    rescoring_difference,
    rescoring_publication,
    settings_checks,
    solution_checks,
)
from grader.services.rescoring_difference import Compared
from grader.services.rescoring_publication import Amends, InvalidPublication
from grader.services.rules import Rules
from grader.services.solution_checks import NotAcceptable
from grader.services.solutions import StoredSolution
from webapp import finding, settings_forms
from webapp.errors import status_of, wants_json
from webapp.organizing import actor, organizers_only
from webapp.representations.competition import CompetitionView
from webapp.representations.rescoring import (
    DifferenceView,
    ProgressView,
    PublishForm,
    SettingsCheckView,
    VersionView,
    changed_settings,
    suggested_notice,
)
from webapp.settings_steps import RESCORING
from webapp.site import current_site

blueprint = Blueprint("organize_rescoring", __name__, url_prefix="/competitions/<slug>/organize/rescoring")
MAX_EXTRA = 1_000


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str) -> ResponseReturnValue:
    """List the scoring versions, and say how a rescoring begins."""
    return _index(slug)


@blueprint.post("")
@organizers_only(Role.EDITOR)
def prepare(slug: str) -> ResponseReturnValue:
    """Begin a rescoring with a checked solution."""
    try:
        with current_site().database.write() as session:
            competition = finding.competition_of(session, slug)
            solution, changes = _checked(session, competition)
            version = rescoring.prepare(
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
    current_site().hints.send_rescoring(version.id)
    flash(f"Scoring version {version.number} is being prepared. The boards stay as they are.")
    return redirect(url_for(".show", slug=slug, number=version.number), 303)


@blueprint.get("/settings")
@organizers_only(Role.EDITOR)
def settings(slug: str) -> ResponseReturnValue:
    """Show the settings that a rescoring may change."""
    return _settings(slug)


@blueprint.post("/settings")
@organizers_only(Role.EDITOR)
def check_settings(slug: str) -> ResponseReturnValue:
    """Have changed settings checked against the solution in use."""
    with current_site().database.write() as session:
        competition, now = finding.competition_of(session, slug), db.now(session)
        before = competition_settings.of(competition)
        found = settings_forms.read(RESCORING, request.form, before=before, locked={})
        problems = list(found.problems.values())
        if not problems:
            rules = Rules(found.changes["identities"] or (), found.changes["metric"])
            try:
                settings_checks.add(session, competition=competition, rules=rules, actor=actor(), now=now)
            except NotAcceptable as error:
                problems = [error.message]
    if problems:
        return _settings(slug, problems=problems, field_problems=found.problems), 422
    flash("The settings are being checked against the solution in use.")
    return redirect(url_for(".index", slug=slug), 303)


@blueprint.get("/<int:number>")
@organizers_only(Role.VIEWER)
def show(slug: str, number: int) -> ResponseReturnValue:
    """Show a scoring version: how far it is, and what can be done with it."""
    return _show(slug, number)


@blueprint.get("/<int:number>/status")
@organizers_only(Role.VIEWER)
def status(slug: str, number: int) -> ResponseReturnValue:
    """Tell how far a scoring version is."""
    with current_site().database.read() as session:
        _, version = _found(session, slug, number)
        progress = rescoring.progress(session, scoring_version_id=version.id)
    return _status(ProgressView(progress)).make_conditional(request)


@blueprint.post("/<int:number>/publish")
@organizers_only(Role.EDITOR)
def publish(slug: str, number: int) -> ResponseReturnValue:
    """Make a prepared version the live one, with everything that the form gives."""

    def act(session: Any, _competition: Competition, version: ScoringVersion, given: dict[str, Any]) -> None:
        rescoring_publication.publish(session, scoring_version_id=version.id, **given)

    return _switch(slug, number, act, f"Every board now shows scoring version {number}.")


@blueprint.post("/<int:number>/rollback")
@organizers_only(Role.EDITOR)
def roll_back(slug: str, number: int) -> ResponseReturnValue:
    """Make an earlier version live again, or prepare it again where it lacks submissions."""

    def act(session: Any, competition: Competition, _version: ScoringVersion, given: dict[str, Any]) -> None:
        reason = request.form.get("reason", "")
        rescoring_publication.roll_back(
            session, competition=competition, number=number, reason=reason, **given
        )

    return _switch(slug, number, act, f"Every board shows scoring version {number} again.")


@blueprint.post("/<int:number>/drop")
@organizers_only(Role.EDITOR)
def drop(slug: str, number: int) -> ResponseReturnValue:
    """Give a version up that is being prepared."""
    try:
        with current_site().database.write() as session:
            _, version = _found(session, slug, number)
            rescoring.drop(session, scoring_version_id=version.id, actor=actor())
    except OrganizerError as error:
        if wants_json():
            raise
        return _show(slug, number, problems=[error.message]), status_of(error)
    flash(f"The rescoring is cancelled. The boards are as they were; scoring version {number} is given up.")
    return redirect(url_for(".index", slug=slug), 303)


@blueprint.get("/<int:number>/difference")
@organizers_only(Role.VIEWER)
def difference(slug: str, number: int) -> ResponseReturnValue:
    """Show what a version changes on whole boards, before and after it is published."""
    with current_site().database.read() as session:
        competition, version = _found(session, slug, number)
        versions = _compared(session, competition, version)
        found = rescoring_difference.preview(session, competition=competition, versions=versions)
        view = CompetitionView(competition, db.now(session))
    return render_template(
        "organize/rescoring_difference.html",
        competition=view,
        scoring_version=VersionView(version),
        difference=DifferenceView(found),
        changes=version.solution.report.get("changes") if versions.after is version else None,
    )


@blueprint.get("/<int:number>/submissions.csv")
@organizers_only(Role.VIEWER)
def submissions_csv(slug: str, number: int) -> ResponseReturnValue:
    """Send every submission's scores under both versions."""

    def lines(session: Any, competition: Competition, versions: Compared) -> Iterator[str]:
        return rescoring_difference.submissions_csv(session, competition=competition, versions=versions)

    return _csv(slug, number, "submissions", lines)


@blueprint.get("/<int:number>/teams.csv")
@organizers_only(Role.VIEWER)
def teams_csv(slug: str, number: int) -> ResponseReturnValue:
    """Send every team's ranks on both boards under both versions."""

    def lines(session: Any, competition: Competition, versions: Compared) -> Iterator[str]:
        return rescoring_difference.teams_csv(
            rescoring_difference.preview(session, competition=competition, versions=versions)
        )

    return _csv(slug, number, "teams", lines)


@blueprint.get("/<int:number>/selections.csv")
@organizers_only(Role.VIEWER)
def selections_csv(slug: str, number: int) -> ResponseReturnValue:
    """Send which submissions come to compete on the private leaderboard, or cease to."""

    def lines(session: Any, competition: Competition, versions: Compared) -> Iterator[str]:
        return rescoring_difference.selections_csv(
            rescoring_difference.preview(session, competition=competition, versions=versions)
        )

    return _csv(slug, number, "selections", lines)


def _checked(session: Any, competition: Competition) -> tuple[StoredSolution, dict[str, Any] | None]:
    """Return the solution that a rescoring is to begin with: corrected, or with changed settings."""
    if job_id := request.form.get("settings", type=int):
        return settings_checks.accepted(session, competition=competition, job_id=job_id), None
    job_id = request.form.get("solution", type=int) or 0
    solution = solution_checks.accepted(session, competition=competition, job_id=job_id)
    check = solution_checks.get(session, competition=competition, job_id=job_id)
    return solution, {**check.result["changes"], "check": job_id}


def _settings(
    slug: str,
    *,
    problems: list[str] | None = None,
    field_problems: Mapping[str, str] | None = None,
) -> str:
    with current_site().database.read() as session:
        competition = finding.competition_of(session, slug)
        live = Rules.from_dict(competitions.live(competition).metric_settings)
        in_use = replace(competition_settings.of(competition), identities=live.identities, metric=live.metric)
        view = CompetitionView(competition, db.now(session))
    values: dict[str, Any] = settings_forms.texts(in_use)
    if problems:
        values |= settings_forms.entered(RESCORING, request.form)
    return render_template(
        "organize/rescoring_settings.html",
        competition=view,
        step=RESCORING,
        values=values,
        problems=problems or [],
        field_problems=field_problems or {},
    )


def _found(session: Any, slug: str, number: int) -> tuple[Competition, ScoringVersion]:
    competition = finding.competition_of(session, slug)
    return competition, rescoring.get(session, competition=competition, number=number)


def _compared(session: Any, competition: Competition, version: ScoringVersion) -> Compared:
    versions = rescoring_difference.versions_of(session, competition=competition, version=version)
    if versions is None:
        raise rescoring_difference.NothingToCompare(version)
    return versions


def _csv(
    slug: str, number: int, name: str, lines: Callable[[Any, Competition, Compared], Iterator[str]]
) -> Response:
    database = current_site().database
    with database.read() as session:
        competition, version = _found(session, slug, number)
        before, after = (each.number for each in _compared(session, competition, version))

    def pieces() -> Iterator[str]:
        with database.read() as session:
            competition, version = _found(session, slug, number)
            yield from lines(session, competition, _compared(session, competition, version))

    answer = Response(stream_with_context(pieces()), mimetype="text/csv")
    answer.headers.set("Content-Disposition", "attachment", filename=f"{slug}-{name}-v{before}-v{after}.csv")
    return answer


def _switch(
    slug: str,
    number: int,
    act: Callable[[Any, Competition, ScoringVersion, dict[str, Any]], None],
    words: str,
) -> ResponseReturnValue:
    try:
        given = {
            "amends": _amends(),
            "lose_scores": request.form.get("lose_scores") == "yes",
            "actor": actor(),
        }
        with current_site().database.write() as session:
            competition, version = _found(session, slug, number)
            act(session, competition, version, given)
            is_live = competition.live_scoring_version_id == version.id
    except OrganizerError as error:
        if wants_json():
            raise
        problems = list(getattr(error, "problems", (error.message,)))
        return _show(slug, number, problems=problems, entered=_entered()), status_of(error)
    if not is_live:
        current_site().hints.send_rescoring(version.id)
        words = f"Scoring version {number} is prepared again: it lacks submissions that arrived since."
    flash(words)
    return redirect(url_for(".show", slug=slug, number=number), 303)


def _entered() -> PublishForm:
    texts = {
        name: request.form.get(name, "")
        for name in ("reason", "notice", "extra_submissions", "extra_day", "closes_at", "selection_deadline")
    }
    return PublishForm(**texts, lose_scores=request.form.get("lose_scores") == "yes")


def _amends() -> Amends:
    """Read what a publication is to give; raise InvalidPublication with all that cannot be read."""
    entered, problems = _entered(), []
    values: dict[str, Any] = {}
    for name, words, read in (
        ("extra_submissions", "The number of extra submissions", _count),
        ("extra_day", "The day of the extra submissions", date.fromisoformat),
        ("closes_at", "The new deadline", _moment),
        ("selection_deadline", "The end of the reopened selection", _moment),
    ):
        text = getattr(entered, name).strip()
        try:
            values[name] = read(text) if text else None
        except ValueError:
            problems.append(f"{words} cannot be read: {text[:40]!r}.")
    if problems:
        raise InvalidPublication(problems)
    return Amends(notice=entered.notice, **values | {"extra_submissions": values["extra_submissions"] or 0})


def _count(text: str) -> int:
    count = int(text)
    if not 0 <= count <= MAX_EXTRA:
        raise ValueError(text)
    return count


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _status(progress: ProgressView) -> Response:
    answer = jsonify(progress.as_json())
    answer.add_etag()
    return answer


def _index(slug: str, *, problem: str | None = None) -> str:
    with current_site().database.read() as session:
        competition = finding.competition_of(session, slug)
        versions = rescoring.list_all(session, competition=competition)
        preparing = next((each for each in versions if VersionView(each).is_preparing), None)
        progress = preparing and rescoring.progress(session, scoring_version_id=preparing.id)
        checks = [
            job
            for job in solution_checks.newest(session, competition=competition)
            if solution_checks.why_not_acceptable(competition, job) is None
        ]
        settings_check = (
            settings_checks.newest(session, competition=competition) if preparing is None else None
        )
        live = competition.live_scoring_version
        view = CompetitionView(competition, db.now(session))
    return render_template(
        "organize/rescoring.html",
        competition=view,
        versions=[VersionView(each) for each in versions],
        preparing=preparing and VersionView(preparing),
        progress=progress and ProgressView(progress),
        checks=checks,
        settings_check=settings_check and SettingsCheckView.of(settings_check, live),
        chosen=request.values.get("solution", type=int) or (checks[0].id if checks else None),
        reason=request.form.get("reason", ""),
        problem=problem,
    )


def _show(
    slug: str, number: int, *, problems: list[str] | None = None, entered: PublishForm | None = None
) -> str:
    with current_site().database.read() as session:
        now = db.now(session)
        competition, version = _found(session, slug, number)
        progress = ProgressView(rescoring.progress(session, scoring_version_id=version.id, now=now))
        gaps = rescoring_difference.gaps(session, competition=competition, version=version)
        versions = rescoring_difference.versions_of(session, competition=competition, version=version)
        view = CompetitionView(competition, now)
    shown = VersionView(version)
    if entered is None:
        entered = PublishForm(notice=suggested_notice(version, view.title) if shown.is_preparing else "")
    return render_template(
        "organize/rescoring_version.html",
        competition=view,
        scoring_version=shown,
        progress=progress,
        gaps=gaps,
        versions=versions,
        settings=changed_settings(versions) if versions else [],
        changes=version.solution.report.get("changes"),
        form=entered,
        today=now.astimezone(UTC).date().isoformat(),
        problems=problems or [],
        etag=_status(progress).headers["ETag"],
    )
