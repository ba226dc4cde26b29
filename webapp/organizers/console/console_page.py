"""Organizers' dashboard: open tasks, scoring queue, pause and resume submissions."""

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Role
from grader.services.audit import log
from grader.services.competitions import pauses
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.settings_problems import InvalidCompetition
from grader.services.exports import tables
from grader.services.jobs import organizer_jobs
from grader.services.moderation import activity
from grader.services.scoring import queue_health, retries
from grader.services.setup import leak_budget
from grader.storage import disk
from webapp.competitions.views import CompetitionView
from webapp.http.auth import organizers_only
from webapp.http.context import actor, competition_of, reading, writing
from webapp.http.errors import status_of
from webapp.http.site import current_site
from webapp.organizers.console import console_view
from webapp.organizers.console.audit_page import EntryView
from webapp.organizers.console.console_view import ActivityView, HealthView
from webapp.presentation.form_fields import InvalidMoment, moment

blueprint = Blueprint("organize_console", __name__, url_prefix="/competitions/<slug>/organize")
RECENT_COUNT = 5
REFUSALS = (pauses.MessageNeeded, pauses.NotPaused, InvalidCompetition, InvalidMoment)


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str) -> ResponseReturnValue:
    """Show how the competition goes."""
    return _page(slug)


@blueprint.post("/pause")
@organizers_only(Role.EDITOR)
def pause(slug: str) -> ResponseReturnValue:
    """Take no files for the moment, or change the sentence that uploaders read."""
    try:
        with writing() as session:
            pauses.pause(
                session,
                competition=competition_of(session, slug),
                message=request.form.get("message", ""),
                closes_at=moment("closes"),
                actor=actor(),
            )
    except REFUSALS as error:
        return _page(slug, problem=error.message), status_of(error)
    flash("Submissions are paused. Leaderboards stay readable, and accepted submissions are still scored.")
    return redirect(url_for("organize_console.index", slug=slug), 303)


@blueprint.post("/resume")
@organizers_only(Role.EDITOR)
def resume(slug: str) -> ResponseReturnValue:
    """Take files again."""
    try:
        with writing() as session:
            pauses.resume(
                session,
                competition=competition_of(session, slug),
                closes_at=moment("closes"),
                actor=actor(),
            )
    except REFUSALS as error:
        return _page(slug, problem=error.message), status_of(error)
    flash("Submissions are open again.")
    return redirect(url_for("organize_console.index", slug=slug), 303)


def _page(slug: str, *, problem: str = "") -> str:
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        health = queue_health.of_competition(session, competition=competition, now=now)
        acts = log.list_page(session, competition=competition)
        leaks = leak_budget.of(competition, competition_settings.of(competition), now=now)
        failed_count = retries.count_failed(session, competition=competition)
        counts = activity.counts(session, competition=competition)
        broken = organizer_jobs.broken(session, competition=competition)
        tasks = list(console_view.tasks(competition, counts, health, failed=failed_count, broken=broken))
        act = console_view.next_act(session, competition, tasks, now=now)
        found = activity.of(session, competition=competition, now=now)
    return render_template(
        "running/console.html",
        competition=CompetitionView(competition, now),
        health=HealthView(health, now),
        activity=ActivityView(counts, found, health, free_bytes=_free_bytes(), now=now),
        tasks=tasks,
        act=act,
        dates=console_view.next_dates(competition, now),
        failed_count=failed_count,
        leaks=leaks,
        recent=[EntryView.of(entry, acts) for entry in acts.rows[:RECENT_COUNT]],
        message=request.form.get("message", competition.pause_message),
        closes_date=request.form.get("closes_date", ""),
        closes_time=request.form.get("closes_time", "23:59"),
        export_kinds=[kind.value for kind in tables.Kind],
        problem=problem,
    )


def _free_bytes() -> int | None:
    """Return the room left where this machine keeps the files; None where they are in a bucket."""
    settings = current_site().settings
    if not settings.storage().startswith("file:"):
        return None
    return min(disk.free_bytes(folder) for folder in disk.folders(settings))
