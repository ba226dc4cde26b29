"""Organizers' console (page and API), with actions to pause and resume submissions."""

from datetime import datetime
from typing import Annotated, Any, Literal

from flask import Blueprint, render_template, request, url_for
from pydantic import Field

from grader import db
from grader.models import Competition, CompetitionState, JobState, Role, ScoringVersionState, SubmissionStatus
from grader.services.closing import tables
from grader.services.competitions import pauses, phases
from grader.services.competitions.acting import Act
from grader.services.competitions.settings_problems import InvalidCompetition
from grader.services.site import activity, log, organizer_jobs
from grader.services.submissions import queue_health, retries
from grader.storage import disk
from grader.visibility import Phase
from webapp.competitions import console_view
from webapp.competitions.console_view import ActivityView, HealthView
from webapp.competitions.views import CompetitionView
from webapp.http import api, lookups
from webapp.http.actions import Family
from webapp.http.auth import organizers_only
from webapp.http.context import competition_of, reading
from webapp.http.fields import Answer, Moment, Sent, Text
from webapp.http.organizer_operations import DESK, organizers_operation
from webapp.http.site import current_site
from webapp.site.audit import EntryView

blueprint = Blueprint("organize_console", __name__, url_prefix="/competitions/<slug>/organize")
RECENT_COUNT = 5


class ScoringQueue(Answer):
    """The scoring jobs of an active scoring version, by state."""

    number: int
    state: ScoringVersionState
    counts: dict[JobState, int]
    oldest_open_at: Moment | None


class Console(Answer):
    """The status of a competition: its scoring queue, its activity and the tasks for organizers."""

    state: CompetitionState
    phase: Phase
    paused_at: Moment | None
    pause_message: str
    health: Literal["idle", "working", "stalled"]
    queues: list[ScoringQueue]
    last_finished_at: Moment | None
    failed_count: int
    waiting_count: Annotated[int, Field(description="Open requests to join.")]
    people_count: Annotated[int, Field(description="Number of participants in teams.")]
    team_count: int
    submission_counts: Annotated[
        dict[SubmissionStatus, int], Field(description="Number of submissions by status.")
    ]


class PauseRequest(Sent):
    """A pause: the message shown to uploaders, and optionally a new closing date."""

    message: Text = ""
    closes_at: Moment | None = None


class ResumeRequest(Sent):
    """The end of a pause, and optionally a new closing date."""

    closes_at: Moment | None = None


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str, *, problem: Any = None) -> str:
    """Show the console."""
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        health = _health(session, competition, now)
        acts = log.list_page(session, competition=competition)
        failed_count = retries.count_failed(session, competition=competition)
        counts = _counts(session, competition, now)
        broken = organizer_jobs.broken(session, competition=competition)
        tasks = list(console_view.tasks(competition, counts, health, failed=failed_count, broken=broken))
        act = console_view.next_act(session, competition, tasks, now=now)
        keep = lookups.keep(session, competition, now)
        found = keep("activity", lambda: activity.of(session, competition=competition, now=now))
    return render_template(
        "competitions/console.html",
        competition=CompetitionView(competition, now),
        health=HealthView(health, now),
        counts=counts,
        activity=ActivityView(counts, found, health, now=now),
        free_bytes=_free_bytes(),
        tasks=tasks,
        act=act,
        dates=console_view.next_dates(competition, now),
        failed_count=failed_count,
        recent=[EntryView(entry, acts) for entry in acts.rows[:RECENT_COUNT]],
        message=request.form.get("message", competition.pause_message),
        closes_date=request.form.get("closes_at_date", ""),
        closes_time=request.form.get("closes_at_time", "23:59"),
        export_kinds=[kind.value for kind in tables.TableKind],
        problem=problem.message if problem else "",
    )


def _health(session: Any, competition: Competition, now: datetime) -> queue_health.Health:
    keep = lookups.keep(session, competition, now)
    return keep("health", lambda: queue_health.of_competition(session, competition=competition, now=now))


def _counts(session: Any, competition: Competition, now: datetime) -> activity.Counts:
    keep = lookups.keep(session, competition, now)
    files = keep("files", lambda: activity.files(session, competition=competition))
    return activity.counts(session, competition=competition, files=files)


@api.blueprint.get(DESK)
@organizers_operation(Role.VIEWER, answers=Console, tag="running")
def console(slug: str) -> Console:
    """Return the status of a competition: its scoring queue, its activity and the tasks for organizers."""
    with reading() as session:
        return _console(session, competition_of(session, slug))


def _console(session: Any, competition: Competition) -> Console:
    now = db.now(session)
    health = _health(session, competition, now)
    counts = _counts(session, competition, now)
    return Console.of(
        competition,
        phase=phases.phase(competition, now),
        health=health.sign.value,
        queues=[ScoringQueue.of(each, counts=dict(each.counts)) for each in health.queues],
        last_finished_at=health.last_finished_at,
        failed_count=retries.count_failed(session, competition=competition),
        waiting_count=counts.asking,
        people_count=counts.people,
        team_count=counts.teams,
        submission_counts=dict(counts.files),
    )


def _free_bytes() -> int | None:
    """Return the free space of the local file storage, or None if files are stored in a bucket."""
    settings = current_site().settings
    if not settings.storage().startswith("file:"):
        return None
    return min(disk.free_bytes(folder) for folder in disk.folders(settings))


CONSOLE = Family(
    pages=blueprint,
    tag="running",
    refusals=(pauses.MessageNeeded, pauses.NotPaused, InvalidCompetition),
    show=index,
    home=lambda slug: url_for("organize_console.index", slug=slug),
    answers=Console,
    answer=lambda act, _outcome: _console(act.session, act.competition),
    role=Role.EDITOR,
)


@CONSOLE.action(
    "/pause",
    page="pause",
    done="Submissions are paused. Leaderboards stay visible, and accepted submissions are still scored.",
)
def pause_submissions(act: Act, sent: PauseRequest) -> None:
    """Pause submissions or change the message shown to uploaders, optionally with a new closing date."""
    pauses.pause(act, message=sent.message, closes_at=sent.closes_at)


@CONSOLE.action(
    "/resume",
    page="resume",
    done="Submissions are open again.",
)
def resume_submissions(act: Act, sent: ResumeRequest) -> None:
    """Resume submissions, optionally with a new closing date."""
    pauses.resume(act, closes_at=sent.closes_at)
