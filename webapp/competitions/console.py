"""Organizers' console (page and API): next action, tasks, dates, activity, scoring queue, pause."""

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

from flask import Blueprint, url_for
from pydantic import Field

from grader.models import (
    CompetitionState,
    JobState,
    OrganizerJobKind,
    Role,
    ScoringVersionState,
    SubmissionStatus,
)
from grader.services.closing import tables
from grader.services.competitions import lifecycle, phases
from grader.services.competitions.acting import Act
from grader.services.competitions.phases import Stage
from grader.services.site import activity, organizer_jobs
from grader.services.submissions import scoring_queue
from grader.services.submissions.scoring_queue import HealthSign, VersionQueue
from grader.text import counted
from grader.visibility import Phase
from webapp.closing.pages import EXPLANATIONS
from webapp.competitions import checklist, home
from webapp.competitions.home import NextStep
from webapp.http import lookups
from webapp.http.fields import Answer, Moment, Sent, Text
from webapp.surface import Ask, Surface

blueprint = Blueprint("organize_console", __name__, url_prefix="/competitions/<slug>/organize")
CONSOLE = Surface(blueprint, tag="running", role=Role.VIEWER, acts=Role.EDITOR)
# For each kind of failed organizer job: its name, and the endpoint of the page that restarts it.
BROKEN = {
    OrganizerJobKind.CHECK: ("The check of the solution", "organize_solution.index"),
    OrganizerJobKind.SETTINGS: ("The check of the settings", "organize_rescoring.index"),
    OrganizerJobKind.DATA: ("The check of the data files", "organize_data.index"),
}


class Console(Answer):
    """The status of a competition: its scoring queue, its activity and the tasks for organizers."""

    state: CompetitionState
    phase: Phase
    paused_at: Moment | None
    pause_message: str
    health: HealthSign
    queues: list[VersionQueue]
    last_finished_at: Moment | None
    failed_count: int
    waiting_count: Annotated[int, Field(description="Open requests to join.")]
    people_count: Annotated[int, Field(description="Number of participants in teams.")]
    team_count: int
    submission_counts: Annotated[
        dict[SubmissionStatus, int], Field(description="Number of submissions by status.")
    ]


class PauseRequest(Sent):
    """A pause: the message shown to uploaders."""

    message: Text = ""


class Task(NamedTuple):
    """A task for organizers: its text, its URL, and whether it reports a fault."""

    words: str
    url: str
    is_fault: bool = False


@CONSOLE.read("", Console, endpoint="index", page="competitions/console.html")
def console(ask: Ask) -> Console:
    """Return the status of a competition: its scoring queue, its activity and the tasks for organizers."""
    session, competition, now = ask.session, ask.competition, ask.now
    keep = lookups.keep(competition, now)
    health = keep("health", lambda: scoring_queue.of_competition(session, competition=competition, now=now))
    counts = activity.counts(session, competition=competition)
    shown = Console.of(
        competition,
        phase=phases.phase(competition, now),
        health=health.sign,
        queues=list(health.queues),
        last_finished_at=health.last_finished_at,
        failed_count=scoring_queue.count_failed(session, competition=competition),
        waiting_count=counts.asking,
        people_count=counts.people,
        team_count=counts.teams,
        submission_counts=keep("files", lambda: activity.files(session, competition=competition)),
    )
    if ask.is_page:
        ask.shown |= {
            "reasons": keep("reasons", lambda: activity.reasons(session, competition=competition, now=now)),
            "tasks": list(_tasks(ask, shown, held_count=counts.held)),
            "next": _next_step(ask),
            "missing": checklist.publication(ask).missing if ask.competition_view.is_draft else [],
            "dates": [(words, at) for words, at in home.dates_of(competition) if at and at > now],
            "export_kinds": [kind.value for kind in tables.TableKind],
        }
    return shown


@CONSOLE.act(
    "/pause",
    back=console,
    form="pause",
    done="Submissions are paused. Leaderboards stay visible, and accepted submissions are still scored.",
)
def pause_submissions(act: Act, sent: PauseRequest) -> None:
    """Pause submissions or change the message shown to uploaders."""
    lifecycle.pause(act, message=sent.message)


@CONSOLE.act("/resume", back=console, form="resume", done="Submissions are open again.")
def resume_submissions(act: Act) -> None:
    """Resume submissions."""
    lifecycle.resume(act)


def _tasks(ask: Ask, shown: Console, *, held_count: int) -> Iterator[Task]:
    """Yield the open tasks, most urgent first."""

    def at(endpoint: str, **values: Any) -> str:
        return url_for(endpoint, slug=ask.competition.slug, **values)

    if shown.health is HealthSign.STALLED:
        yield Task("Scoring seems to have stopped", "#queue", is_fault=True)
    if shown.failed_count:
        words = f"{counted(shown.failed_count, 'submission')} failed"
        yield Task(words, at("organize_submissions.index", state="failed"), is_fault=True)
    broken = organizer_jobs.broken(ask.session, competition=ask.competition)
    for words, endpoint in (BROKEN[kind] for kind in broken if kind in BROKEN):
        yield Task(f"{words} failed", at(endpoint), is_fault=True)
    if held_count:
        words = f"{counted(held_count, 'data file')} held back"
        yield Task(words, at("organize_data.index"), is_fault=True)
    if shown.waiting_count:
        yield Task(f"{counted(shown.waiting_count, 'request')} to join", at("entry.requests"))
    for queue in shown.queues:
        if queue.state is ScoringVersionState.PREPARING:
            is_busy = queue.counts.get(JobState.WAITING) or queue.counts.get(JobState.CLAIMED)
            words = f"Scoring version {queue.number} is {'being prepared' if is_busy else 'ready to publish'}"
            yield Task(words, at("organize_rescoring.show", number=queue.number))
    if shown.paused_at and ask.competition.revealed_at is None:
        yield Task("Submissions are paused", "#pause")


def _next_step(ask: Ask) -> NextStep | None:
    """Return the next step of a draft or of a closed competition."""
    competition, slug = ask.competition, ask.competition.slug
    if competition.state is CompetitionState.DRAFT:
        setup = url_for("organize_settings.show", slug=slug, _anchor="publish")
        return NextStep("Continue setup", setup, "Only organizers can see this draft.")
    stage = phases.stage(competition, ask.now)
    if competition.state is CompetitionState.ARCHIVED or stage is Stage.RUNNING:
        return None
    label, anchor = {
        Stage.CLOSED: ("See open items", None),
        Stage.SETTLED: ("Reveal", "reveal"),
        Stage.REVEALED: ("Download results bundle", "results"),
    }[stage]
    here = url_for("organize_close.index", slug=slug, _anchor=anchor)
    return NextStep(label, here, EXPLANATIONS[stage])
