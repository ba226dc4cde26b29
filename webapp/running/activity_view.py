"""View of a competition's activity for the console: figures, pictures, dates, and what needs an answer."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from flask import url_for

from grader.charts.days import best_line, day_bars
from grader.models import Competition, JobState, ScoringVersionState, SubmissionStatus
from grader.services.analysis.activity import Activity, Counts
from grader.services.competitions import phases
from grader.services.competitions.phases import Stage
from grader.services.scoring.queue_health import Health
from webapp.presentation import formats


@dataclass(frozen=True, slots=True)
class Task:
    """Something that needs an answer: words, where, and whether it is a fault."""

    words: str
    url: str
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
    competition: Competition, counts: Counts, health: Health, *, failed: int, questions: int, now: datetime
) -> Iterator[Task]:
    """Yield what needs an answer, the most urgent first."""

    def at(endpoint: str, **values: object) -> str:
        return url_for(endpoint, slug=competition.slug, **values)  # type: ignore[arg-type]

    if failed:
        words = f"{formats.counted(failed, 'submission')} failed"
        yield Task(words, at("organize_submissions.index", state="failed"), is_fault=True)
    if questions:
        yield Task(f"{formats.counted(questions, 'question')} about scores", at("organize_disputes.index"))
    if counts.asking:
        words = f"{formats.counted(counts.asking, 'person asks', 'people ask')} to join"
        yield Task(words, at("entry.requests"))
    for queue in health.queues:
        if queue.state is ScoringVersionState.PREPARING and not (
            queue.counts.get(JobState.WAITING) or queue.counts.get(JobState.CLAIMED)
        ):
            words = f"Scoring version {queue.number} is ready to publish"
            yield Task(words, at("organize_rescoring.show", number=queue.number))
    if competition.paused_at:
        yield Task("Submissions are paused", "#pause")
    if phases.stage(competition, now) in (Stage.CLOSED, Stage.PROVISIONAL):
        yield Task("The competition is closed: verify, reveal, finalize", at("organize_close.index"))


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
