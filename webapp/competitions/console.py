"""Organizers' console (page and API): next action, tasks, dates, activity, scoring queue, pause."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from flask import Blueprint, url_for
from pydantic import Field

from grader.models import (
    Competition,
    CompetitionState,
    JobState,
    OrganizerJobKind,
    Role,
    ScoringVersionState,
    SubmissionStatus,
)
from grader.services.closing import close, tables
from grader.services.competitions import lifecycle, phases
from grader.services.competitions.acting import Act
from grader.services.competitions.phases import Stage
from grader.services.site import activity, organizer_jobs
from grader.services.submissions import scoring_queue
from grader.services.submissions.scoring_queue import Health, HealthSign, VersionQueue
from grader.visibility import Phase
from webapp.closing import pages as closing
from webapp.competitions import checklist, home
from webapp.http import lookups
from webapp.http.fields import Answer, Moment, Sent, Text
from webapp.presentation import formats
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
    health: Literal["idle", "working", "stalled"]
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
    """A task for organizers: its text, URL and link label, if any, and whether it reports a fault."""

    words: str
    url: str = ""
    act: str = "See"
    is_fault: bool = False


def _page(ask: Ask, shown: Console) -> dict[str, Any]:
    """Return what the page shows beside the status."""
    session, competition, now = ask.session, ask.competition, ask.now
    keep = lookups.keep(session, competition, now)
    health, counts = ask.shown["health"], ask.shown["counts"]
    tasks = list(_tasks(session, competition, counts, health, failed=shown.failed_count))
    dates = home.dates_of(competition, now)
    is_draft = competition.state is CompetitionState.DRAFT
    return {
        "queues": health.queues,
        "health_sentence": _sentence(health, now),
        "reasons": keep("reasons", lambda: activity.reasons(session, competition=competition, now=now)),
        "tasks": tasks,
        "act": _next_task(ask, tasks),
        "missing": checklist.publication(ask).missing if is_draft else [],
        "dates": [
            (each.words, each.at, formats.span(each.at - now)) for each in dates if each.at and each.at > now
        ],
        "export_kinds": [kind.value for kind in tables.TableKind],
    }


@CONSOLE.read("", Console, endpoint="index", page="competitions/console.html", extra=_page)
def console(ask: Ask) -> Console:
    """Return the status of a competition: its scoring queue, its activity and the tasks for organizers."""
    session, competition, now = ask.session, ask.competition, ask.now
    keep = lookups.keep(session, competition, now)
    health = keep("health", lambda: scoring_queue.of_competition(session, competition=competition, now=now))
    files = keep("files", lambda: activity.files(session, competition=competition))
    counts = activity.counts(session, competition=competition)
    size = sum(size for _, size in files.values())
    ask.shown |= {"health": health, "counts": counts, "size_bytes": size}
    return Console.of(
        competition,
        phase=phases.phase(competition, now),
        health=health.sign.value,
        queues=list(health.queues),
        last_finished_at=health.last_finished_at,
        failed_count=scoring_queue.count_failed(session, competition=competition),
        waiting_count=counts.asking,
        people_count=counts.people,
        team_count=counts.teams,
        submission_counts={status: count for status, (count, _) in files.items()},
    )


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


def _tasks(
    session: Any, competition: Competition, counts: activity.Counts, health: Health, *, failed: int
) -> Iterator[Task]:
    """Yield the open tasks, most urgent first."""

    def at(endpoint: str, **values: Any) -> str:
        return url_for(endpoint, slug=competition.slug, **values)

    if health.sign is HealthSign.STALLED:
        yield Task("Scoring seems to have stopped", "#queue", is_fault=True)
    if failed:
        words = f"{formats.counted(failed, 'submission')} failed"
        yield Task(words, at("organize_submissions.index", state="failed"), is_fault=True)
    broken = organizer_jobs.broken(session, competition=competition)
    for words, endpoint in (BROKEN[kind] for kind in broken if kind in BROKEN):
        yield Task(f"{words} failed", at(endpoint), is_fault=True)
    if counts.held:
        words = f"{formats.counted(counts.held, 'data file')} held back"
        yield Task(words, at("organize_data.index"), is_fault=True)
    if counts.asking:
        yield Task(f"{formats.counted(counts.asking, 'request')} to join", at("entry.requests"), "Answer")
    for queue in health.queues:
        if queue.state is ScoringVersionState.PREPARING:
            is_busy = queue.counts.get(JobState.WAITING) or queue.counts.get(JobState.CLAIMED)
            words = f"Scoring version {queue.number} is {'being prepared' if is_busy else 'ready to publish'}"
            label = "See" if is_busy else "Review"
            yield Task(words, at("organize_rescoring.show", number=queue.number), label)
    if competition.paused_at and competition.revealed_at is None:
        yield Task("Submissions are paused", "#pause", "Resume")


def _sentence(health: Health, now: Any) -> str:
    last = health.last_finished_at
    done = f"The last result on this site arrived {formats.span(now - last)} ago." if last else ""
    if health.sign is HealthSign.WORKING:
        return f"Workers are scoring submissions. {done}"
    if health.sign is not HealthSign.STALLED:
        return f"Nothing is waiting to be scored. {done}"
    return (
        "Scoring seems to have stopped: a submission is waiting and no worker has claimed it. "
        f"{done} Check that the workers and the sweeper are running."
    )


def _next_task(ask: Ask, tasks: Sequence[Task]) -> Task:
    """Return the next task: a draft's setup, a running competition's first open task, or the close."""
    session, competition, now, slug = ask.session, ask.competition, ask.now, ask.competition.slug
    if competition.state is CompetitionState.DRAFT:
        setup = url_for("organize_settings.show", slug=slug, _anchor="publish")
        return Task("Only organizers can see this draft.", setup, "Continue setup")
    if competition.state is CompetitionState.ARCHIVED:
        return Task("The competition is archived. It stays readable but accepts no files.")
    stage = phases.stage(competition, now)
    if tasks and stage in (Stage.RUNNING, Stage.REVEALED):
        return tasks[0]
    here = url_for("organize_close.index", slug=slug)
    sentence = closing.explanation(close.state(session, competition=competition, now=now))
    return {
        Stage.RUNNING: Task("There are no open tasks."),
        Stage.CLOSED: Task(sentence, here, "See open items"),
        Stage.SETTLED: Task(sentence, f"{here}#reveal", "Reveal"),
        Stage.REVEALED: Task(sentence, f"{here}#results", "Download results bundle"),
    }[stage]
