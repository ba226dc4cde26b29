"""Sentences on the leaderboard about its stage: provisional, private not revealed, final, late files."""

from datetime import datetime

from grader.models import Competition
from grader.services.competitions.phases import Stage
from webapp.presentation import formats

LATE_WARNING = (
    "Late submissions are open: they are scored on both splits and are not ranked. From both scores people "
    "can work out the labels of the test set, so late scores prove little."
)


def stage_sentence(competition: Competition, stage: Stage, *, pending_count: int) -> str:
    """Return the sentence about the private leaderboard that visitors see; may be empty."""
    match stage:
        case Stage.RUNNING:
            return _until(competition.reveals_at)
        case Stage.CLOSED:
            if pending_count:
                left = formats.counted(pending_count, "submission")
                verb = "is" if pending_count == 1 else "are"
                return f"Closed. {left} accepted in time {verb} still being scored and will count. " + _until(
                    competition.reveals_at
                )
            return "Closed. " + _until(competition.reveals_at)
        case Stage.SETTLED:
            return "Closed: every submission accepted in time has its result. " + _until(
                competition.reveals_at
            )
        case Stage.PROVISIONAL:
            return "These standings are provisional until the organizers make them final."
        case Stage.FINAL:
            moment = formats.moment(competition.finalized_at) if competition.finalized_at else ""
            return f"The standings became final on {moment}."


def _until(reveals_at: datetime | None) -> str:
    if reveals_at is None:
        return ""
    return (
        "The organizers reveal the private leaderboard. If they do not, it is revealed automatically on "
        f"{formats.moment(reveals_at)} or as soon after that as everything is scored."
    )
