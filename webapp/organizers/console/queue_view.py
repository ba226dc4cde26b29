"""View of the scoring queue's health for the organizers' dashboard."""

from dataclasses import dataclass
from datetime import datetime

from grader.models import JobState
from grader.services.scoring.queue_health import Health, Sign, VersionQueue
from webapp.presentation import formats


@dataclass(frozen=True, slots=True)
class QueueLine:
    """The jobs of a scoring version by state, and for how long its oldest open one has been there."""

    number: int
    state: str
    reason: str
    waiting: int
    claimed: int
    done: int
    rejected: int
    failed: int
    oldest: str


class HealthView:
    """The lines of the scoring versions in use, and one sentence about who works."""

    def __init__(self, health: Health, now: datetime) -> None:
        self.lines = [_line(queue, now) for queue in health.queues]
        self.is_stalled = health.sign is Sign.STALLED
        self.sentence = _sentence(health, now)


def _line(queue: VersionQueue, now: datetime) -> QueueLine:
    oldest = queue.oldest_open_at
    return QueueLine(
        number=queue.number,
        state=queue.state.value,
        reason=queue.reason,
        waiting=queue.counts.get(JobState.WAITING, 0),
        claimed=queue.counts.get(JobState.CLAIMED, 0),
        done=queue.counts.get(JobState.DONE, 0),
        rejected=queue.counts.get(JobState.REJECTED, 0),
        failed=queue.counts.get(JobState.FAILED, 0),
        oldest=formats.span(now - oldest) if oldest else "none",
    )


def _sentence(health: Health, now: datetime) -> str:
    last = health.last_finished_at
    done = f"The last result on this site came {formats.span(now - last)} ago." if last else ""
    match health.sign:
        case Sign.STALLED:
            waits = formats.span(now - health.overdue_since) if health.overdue_since else "a minute"
            return (
                f"Scoring seems to have stopped: a submission has waited for {waits} and no worker takes "
                f"it. {done} "
                "Check that the workers and the sweeper are running."
            )
        case Sign.WORKING:
            return f"Workers are scoring. {done}"
        case _:
            return f"Nothing is waiting to be scored. {done}"
