"""Sentences on the leaderboard about its stage: provisional, private not revealed, final, late files."""

from datetime import datetime

from grader.models import Competition
from grader.services.competitions.phases import Stage
from webapp.presentation import formats

LATE_WARNING = (
    "Late submissions are open: they are scored on both splits and stand on no board. With both scores "
    "shown, the labels of the test set become recoverable: late scores prove little."
)


def stage_sentence(competition: Competition, stage: Stage, *, pending_count: int) -> str:
    """Return what a visitor is told about the private leaderboard; empty where there is nothing to tell."""
    match stage:
        case Stage.RUNNING:
            return _until(competition.reveals_at)
        case Stage.CLOSED:
            if pending_count:
                left = formats.counted(pending_count, "file")
                verb = "is" if pending_count == 1 else "are"
                return f"Closed. {left} accepted in time {verb} still being scored, and count. " + _until(
                    competition.reveals_at
                )
            return "Closed. " + _until(competition.reveals_at)
        case Stage.SETTLED:
            return "Closed and settled: everything accepted in time has its result. " + _until(
                competition.reveals_at
            )
        case Stage.PROVISIONAL:
            return "These standings are provisional until the organizer makes them final."
        case Stage.FINAL:
            moment = formats.moment(competition.finalized_at) if competition.finalized_at else ""
            return f"The standings became final on {moment}."


def _until(reveals_at: datetime | None) -> str:
    if reveals_at is None:
        return ""
    return (
        "The organizer reveals the private leaderboard; without that it is revealed by itself on "
        f"{formats.moment(reveals_at)}, as soon as everything is scored."
    )
