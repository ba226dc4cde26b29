"""Console view: open tasks, next action, dates, activity, scoring queue."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flask import url_for

from grader.models import (
    Competition,
    CompetitionState,
    JobState,
    OrganizerJobKind,
    ScoringVersionState,
    SubmissionStatus,
)
from grader.services.closing import checklist
from grader.services.competitions import lifecycle, phases
from grader.services.competitions.phases import Stage
from grader.services.site.activity import Activity, Counts
from grader.services.solutions import data_files as files
from grader.services.submissions.queue_health import Health, HealthSign
from grader.visibility import Phase
from webapp.closing.views import CloseView
from webapp.presentation import formats

# For each kind of failed organizer job: its name, and the endpoint of the page that restarts it.
BROKEN = {
    OrganizerJobKind.CHECK: ("The check of the solution", "organize_solution.index"),
    OrganizerJobKind.SETTINGS: ("The check of the settings", "organize_rescoring.index"),
    OrganizerJobKind.DATA: ("The check of the data files", "organize_data.index"),
    OrganizerJobKind.SOLUTION: ("The file of the published solution", "organize_close.index"),
}


@dataclass(frozen=True, slots=True)
class Task:
    """A task for organizers: its text, URL and link label, and whether it reports a fault."""

    words: str
    url: str
    act: str = "Answer"
    is_fault: bool = False


class ActivityView:
    """The activity in a competition, as figures and tables."""

    def __init__(
        self,
        counts: Counts,
        activity: Activity,
        health: Health,
        *,
        now: datetime,
    ) -> None:
        self.submissions = sum(counts.files.values())
        self.waiting = counts.files.get(SubmissionStatus.PENDING, 0)
        self.rejected = counts.files.get(SubmissionStatus.REJECTED, 0)
        share = formats.percent(self.rejected, self.submissions) if self.submissions else ""
        self.rejected_note = f"{share} of all" if self.rejected else None
        oldest = min((q.oldest_open_at for q in health.queues if q.oldest_open_at), default=None)
        self.waiting_note = f"oldest {formats.span(now - oldest)}" if oldest else None
        self.days = activity.days
        self.sent = sum(day.accepted + day.rejected for day in activity.days)
        self.reasons = [(code.replace("_", " "), count) for code, count in activity.reasons]


def tasks(
    competition: Competition,
    counts: Counts,
    health: Health,
    *,
    failed: int,
    broken: Iterable[OrganizerJobKind],
) -> Iterator[Task]:
    """Yield the open tasks, most urgent first; `broken` lists the failed organizer jobs."""

    def at(endpoint: str, **values: object) -> str:
        return url_for(endpoint, slug=competition.slug, **values)  # type: ignore[arg-type]

    if health.sign is HealthSign.STALLED:
        yield Task("Scoring seems to have stopped", "#queue", "See", is_fault=True)
    if failed:
        words = f"{formats.counted(failed, 'submission')} failed"
        yield Task(words, at("organize_submissions.index", state="failed"), "See", is_fault=True)
    for words, endpoint in (BROKEN[kind] for kind in broken if kind in BROKEN):
        yield Task(f"{words} failed", at(endpoint), "See", is_fault=True)
    if counts.held:
        words = f"{formats.counted(counts.held, 'data file')} held back"
        yield Task(words, at("organize_data.index"), "See", is_fault=True)
    if counts.asking:
        words = f"{formats.counted(counts.asking, 'request')} to join"
        yield Task(words, at("entry.requests"))
    for queue in health.queues:
        if queue.state is ScoringVersionState.PREPARING:
            is_busy = queue.counts.get(JobState.WAITING) or queue.counts.get(JobState.CLAIMED)
            words = f"Scoring version {queue.number} is {'being prepared' if is_busy else 'ready to publish'}"
            yield Task(
                words, at("organize_rescoring.show", number=queue.number), "See" if is_busy else "Review"
            )
    if competition.paused_at and competition.revealed_at is None:
        yield Task("Submissions are paused", "#pause", "Resume")


def next_dates(competition: Competition, now: datetime) -> list[tuple[str, datetime, str]]:
    """Return the label, time and remaining time of each upcoming date, earliest first."""
    dates = (
        ("Opens", competition.opens_at),
        ("Entry ends", competition.entry_deadline),
        ("Mergers end", competition.merger_deadline),
        ("Closes", competition.closes_at),
        ("Reveal", None if competition.revealed_at else competition.reveals_at),
    )
    coming = [(words, at, formats.span(at - now)) for words, at in dates if at is not None and at > now]
    return sorted(coming, key=lambda each: each[1])


class HealthView:
    """The queues with the ages of their oldest jobs, and one sentence about the state of scoring."""

    def __init__(self, health: Health, now: datetime) -> None:
        self.queues = [
            (queue, formats.span(now - queue.oldest_open_at) if queue.oldest_open_at else "none")
            for queue in health.queues
        ]
        self.is_stalled = health.sign is HealthSign.STALLED
        self.sentence = _sentence(health, now)


def _sentence(health: Health, now: datetime) -> str:
    last = health.last_finished_at
    done = f"The last result on this site arrived {formats.span(now - last)} ago." if last else ""
    match health.sign:
        case HealthSign.STALLED:
            waits = formats.span(now - health.overdue_since) if health.overdue_since else "a minute"
            return (
                f"Scoring seems to have stopped: a submission has been waiting for {waits} and no worker "
                f"has claimed it. {done} "
                "Check that the workers and the sweeper are running."
            )
        case HealthSign.WORKING:
            return f"Workers are scoring submissions. {done}"
        case _:
            return f"Nothing is waiting to be scored. {done}"


@dataclass(frozen=True, slots=True)
class NextAct:
    """A sentence about the competition's state, and the next action; `url` is empty if there is none.

    `missing` lists the reasons why a draft cannot be published.
    """

    sentence: str
    words: str = ""
    url: str = ""
    missing: tuple[str, ...] = ()


def next_act(session: Any, competition: Competition, tasks: Sequence[Task], *, now: datetime) -> NextAct:
    """Return the next action: a draft's setup, a running competition's open tasks, or the close."""
    if competition.state is CompetitionState.DRAFT:
        return _of_draft(session, competition, now)
    if competition.state is CompetitionState.ARCHIVED:
        return NextAct("The competition is archived. It stays readable but accepts no files.")
    stage = phases.stage(competition, now)
    if stage is Stage.RUNNING:
        return _of_running(competition, tasks, now)
    return _of_close(session, competition, stage, tasks, now)


def _of_draft(session: Any, competition: Competition, now: datetime) -> NextAct:
    faults = [*lifecycle.missing(competition, now=now), *files.faults(session, competition=competition)]
    review = url_for("organize_settings.show", slug=competition.slug, _anchor="publish")
    if not faults:
        return NextAct("This draft is complete.", "Review and publish", review)
    count = formats.counted(len(faults), "item is missing", "items are missing")
    return NextAct(
        f"Only organizers can see this draft. {count}.",
        "Continue setup",
        review,
        tuple(each.sentence for each in faults),
    )


def _of_running(competition: Competition, tasks: Sequence[Task], now: datetime) -> NextAct:
    if tasks:
        return NextAct(f"{tasks[0].words}.", tasks[0].act, tasks[0].url)
    if phases.phase(competition, now) is Phase.SCHEDULED:
        return NextAct("The competition is published but not open yet. There are no open tasks.")
    return NextAct("The competition is open. There are no open tasks.")


def _of_close(
    session: Any, competition: Competition, stage: Stage, tasks: Sequence[Task], now: datetime
) -> NextAct:
    here = url_for("organize_close.index", slug=competition.slug)
    if stage is Stage.REVEALED and tasks:
        return NextAct(f"The private leaderboard is public. {tasks[0].words}.", tasks[0].act, tasks[0].url)
    sentence = CloseView(checklist.state(session, competition=competition, now=now)).explanation
    match stage:
        case Stage.CLOSED:
            return NextAct(sentence, "See open items", here)
        case Stage.SETTLED:
            return NextAct(sentence, "Reveal", f"{here}#reveal")
        case _:
            return NextAct(sentence, "Download results bundle", f"{here}#results")
