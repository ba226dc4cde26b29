"""The review of a competition: what is missing before it is published, and the acts that change its state."""

from collections.abc import Iterable

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Competition, CompetitionState, Role
from grader.services import benchmark_entries, competition_settings, data_files, leak_budgets, lifecycle
from grader.services.competition_settings import CompetitionSettings
from webapp import finding
from webapp.organizing import actor, organizers_only
from webapp.representations.competition import CompetitionView
from webapp.settings_steps import STEPS
from webapp.site import current_site

blueprint = Blueprint("organize_publishing", __name__, url_prefix="/competitions/<slug>/organize/state")


@blueprint.get("")
@organizers_only(Role.VIEWER)
def show(slug: str) -> ResponseReturnValue:
    """Show the checklist of a draft, or the state of a published competition."""
    return _page(slug)


@blueprint.post("/publish")
@organizers_only(Role.OWNER)
def publish(slug: str) -> ResponseReturnValue:
    """Publish a draft, with the sample submission as its first benchmark."""
    site = current_site()
    try:
        with site.database.write() as session:
            entered = benchmark_entries.publish(
                session,
                storage=site.storage,
                competition=finding.competition_of(session, slug),
                actor=actor(),
                now=db.now(session),
            )
    except lifecycle.NotReady:
        return _page(slug), 409
    site.hints.send(entered.job_ids if entered else ())
    flash("The competition is published.")
    return redirect(url_for("organize_publishing.show", slug=slug), 303)


@blueprint.post("/archive")
@organizers_only(Role.OWNER)
def archive(slug: str) -> ResponseReturnValue:
    """Put a competition away, or bring it back."""
    act = lifecycle.unarchive if request.form.get("back") else lifecycle.archive
    with current_site().database.write() as session:
        act(
            session,
            competition=finding.competition_of(session, slug),
            actor=actor(),
            reason=request.form.get("reason", ""),
        )
    flash("The competition is back." if request.form.get("back") else "The competition is archived.")
    return redirect(url_for("organize_publishing.show", slug=slug), 303)


def _page(slug: str) -> str:
    with current_site().database.read() as session:
        competition, now = finding.competition_of(session, slug), db.now(session)
        settings = competition_settings.of(competition)
        budget = leak_budgets.of(competition, settings, now=now)
        is_draft = competition.state is CompetitionState.DRAFT
        view = CompetitionView(competition, now)
        advice = _advice(competition, settings)
        if not data_files.list_all(session, competition=competition):
            advice.append(("organize_data.index", {}, "There is no data file to download."))
        if not benchmark_entries.list_all(session, competition=competition) and is_draft:
            advice.append(("organize_data.index", {}, "There is no baseline beside the sample submission."))
        missing = lifecycle.missing(competition, now=now) if is_draft else []
    return render_template(
        "organize/publishing.html",
        competition=view,
        settings=settings,
        steps=STEPS,
        missing=missing,
        advice=advice,
        budget=budget,
        files_of_a_team=leak_budgets.files_of_a_team(settings, now=now),
        metric=view.metric(),
    )


def _advice(competition: Competition, settings: CompetitionSettings) -> list[tuple[str, dict[str, str], str]]:
    """Return what a competition can do without and seldom should: a page, its arguments, and a sentence."""

    def found() -> Iterable[tuple[str, str]]:
        if not settings.overview:
            yield "basics", "The overview is empty; people read a sentence of ours."
        if not settings.contact:
            yield "basics", "There is no contact for questions."
        if competition.closes_at is None:
            yield "dates", "It does not close by itself: entry, mergers and the reveal have no dates either."
        if not settings.rules:
            yield "entry", "There are no rules: joining is the first upload."

    return [("organize_settings.show", {"step": step}, words) for step, words in found()]
