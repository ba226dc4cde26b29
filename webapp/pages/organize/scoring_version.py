"""One scoring version: how far it is, publishing it, rolling back to it, giving it up."""

from collections.abc import Callable
from datetime import UTC
from typing import Any

from flask import Response, flash, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.errors import OrganizerError
from grader.models import Competition, Role, ScoringVersion
from grader.services import rescoring, rescoring_difference, rescoring_publication
from webapp import finding
from webapp.errors import status_of, wants_json
from webapp.organizing import actor, organizers_only
from webapp.pages.organize.rescoring import blueprint
from webapp.publication_forms import PublishForm
from webapp.representations.competition import CompetitionView
from webapp.representations.rescoring import (
    ProgressView,
    VersionView,
    changed_settings,
    suggested_notice,
)
from webapp.site import current_site


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
        _, version = finding.scoring_version_of(session, slug, number)
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
            _, version = finding.scoring_version_of(session, slug, number)
            rescoring.drop(session, scoring_version_id=version.id, actor=actor())
    except OrganizerError as error:
        if wants_json():
            raise
        return _show(slug, number, problems=[error.message]), status_of(error)
    flash(f"The rescoring is cancelled. The boards are as they were; scoring version {number} is given up.")
    return redirect(url_for(".index", slug=slug), 303)


def _switch(
    slug: str,
    number: int,
    act: Callable[[Any, Competition, ScoringVersion, dict[str, Any]], None],
    words: str,
) -> ResponseReturnValue:
    form = PublishForm.entered()
    try:
        given = {"amends": form.amends(), "lose_scores": form.lose_scores, "actor": actor()}
        with current_site().database.write() as session:
            competition, version = finding.scoring_version_of(session, slug, number)
            act(session, competition, version, given)
            is_live = competition.live_scoring_version_id == version.id
    except OrganizerError as error:
        if wants_json():
            raise
        problems = list(getattr(error, "problems", (error.message,)))
        return _show(slug, number, problems=problems, form=form), status_of(error)
    if not is_live:
        current_site().hints.send_rescoring(version.id)
        words = f"Scoring version {number} is prepared again: it lacks submissions that arrived since."
    flash(words)
    return redirect(url_for(".show", slug=slug, number=number), 303)


def _show(
    slug: str, number: int, *, problems: list[str] | None = None, form: PublishForm | None = None
) -> str:
    with current_site().database.read() as session:
        now = db.now(session)
        competition, version = finding.scoring_version_of(session, slug, number)
        progress = ProgressView(rescoring.progress(session, scoring_version_id=version.id, now=now))
        gaps = rescoring_difference.gaps(session, competition=competition, version=version)
        versions = rescoring_difference.versions_of(session, competition=competition, version=version)
        view = CompetitionView(competition, now)
    shown = VersionView(version)
    if form is None:
        form = PublishForm(notice=suggested_notice(version, view.title) if shown.is_preparing else "")
    return render_template(
        "organize/rescoring_version.html",
        competition=view,
        scoring_version=shown,
        progress=progress,
        gaps=gaps,
        versions=versions,
        settings=changed_settings(versions) if versions else [],
        changes=version.solution.report.get("changes"),
        form=form,
        today=now.astimezone(UTC).date().isoformat(),
        problems=problems or [],
        etag=_status(progress).headers["ETag"],
    )


def _status(progress: ProgressView) -> Response:
    answer = jsonify(progress.as_json())
    answer.add_etag()
    return answer
