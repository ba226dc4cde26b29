"""View of a competition's activity for the console: figures, pictures, dates, and what needs an answer."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from flask import url_for

from grader.charts.days import best_line, day_bars
from grader.models import (
    Competition,
    JobState,
    OrganizerJobKind,
    ScoringVersionState,
    SubmissionStatus,
)
from grader.services.moderation.activity import Activity, Counts
from grader.services.scoring.queue_health import Health, Sign
from webapp.presentation import formats

# What organizers' jobs that failed are called, and the page where they are started again.
BROKEN = {
    OrganizerJobKind.CHECK: ("The check of the solution", "organize_solution.index"),
    OrganizerJobKind.SETTINGS: ("The check of the settings", "organize_rescoring.index"),
    OrganizerJobKind.DATA: ("The check of the data files", "organize_data.index"),
    OrganizerJobKind.FAIR_PLAY: ("The search for copies", "fair_play.index"),
    OrganizerJobKind.TIES: ("The comparison of teams", "organize_console.ties"),
    OrganizerJobKind.VERIFY: ("The verification", "organize_close.index"),
    OrganizerJobKind.BUNDLE: ("The results bundle", "organize_close.index"),
}


@dataclass(frozen=True, slots=True)
class Task:
    """Something that needs an answer: words, where, the act as words, and whether it is a fault."""

    words: str
    url: str
    act: str = "Answer"
    is_fault: bool = False


class ActivityView:
    """How a competition goes, in figures and pictures."""

    def __init__(
        self, counts: Counts, activity: Activity, health: Health, *, free_bytes: int | None, now: datetime
    ) -> None:
        self.people, self.teams = counts.people, counts.teams
        self.submissions = sum(counts.files.values())
        self.waiting = counts.files.get(SubmissionStatus.PENDING, 0)
        self.rejected = counts.files.get(SubmissionStatus.REJECTED, 0)
        share = formats.percent(self.rejected, self.submissions) if self.submissions else ""
        self.rejected_note = f"{share} of all" if self.rejected else None
        oldest = min((q.oldest_open_at for q in health.queues if q.oldest_open_at), default=None)
        self.waiting_note = f"oldest {formats.span(now - oldest)}" if oldest else None
        self.used = formats.size(counts.size_bytes)
        self.free = formats.size(free_bytes) if free_bytes is not None else None
        self.days = activity.days
        self.sent = sum(day.accepted + day.rejected for day in activity.days)
        self.day_bars = day_bars([(day.day, day.accepted, day.rejected) for day in activity.days])
        self.reasons = [(code.replace("_", " "), count) for code, count in activity.reasons]
        self.best_line = best_line(activity.best, until=now.date())


def tasks(
    competition: Competition,
    counts: Counts,
    health: Health,
    *,
    failed: int,
    broken: Iterable[OrganizerJobKind],
) -> Iterator[Task]:
    """Yield what needs an answer, the most urgent first; `broken` are the organizers' jobs that failed."""

    def at(endpoint: str, **values: object) -> str:
        return url_for(endpoint, slug=competition.slug, **values)  # type: ignore[arg-type]

    if health.sign is Sign.STALLED:
        yield Task("Scoring seems to have stopped", "#queue", "See", is_fault=True)
    if failed:
        words = f"{formats.counted(failed, 'submission')} failed"
        yield Task(words, at("organize_submissions.index", state="failed"), "See", is_fault=True)
    for words, endpoint in (BROKEN[kind] for kind in broken if kind in BROKEN):
        yield Task(f"{words} failed", at(endpoint), "See", is_fault=True)
    if counts.held:
        words = f"{formats.counted(counts.held, 'data file')} held back"
        yield Task(words, at("organize_data.index"), "See", is_fault=True)
    if counts.appeals:
        words = f"{formats.counted(counts.appeals, 'appeal')} against a disqualification"
        yield Task(words, at("organize_disputes.index"))
    if questions := counts.questions - counts.appeals:
        yield Task(f"{formats.counted(questions, 'question')} about scores", at("organize_disputes.index"))
    if counts.asking:
        words = f"{formats.counted(counts.asking, 'person asks', 'people ask')} to join"
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
    """Return the dates to come, the nearest first: words, moment, and what is left."""
    dates = (
        ("Opens", competition.opens_at),
        ("Entry ends", competition.entry_deadline),
        ("Mergers end", competition.merger_deadline),
        ("Closes", competition.closes_at),
        ("Reveal", None if competition.revealed_at else competition.reveals_at),
    )
    coming = [(words, at, formats.span(at - now)) for words, at in dates if at is not None and at > now]
    return sorted(coming, key=lambda each: each[1])
