"""Pausing and resuming submissions.

During a pause, all pages stay available, accepted submissions are scored, and selections can be changed.
"""

from datetime import datetime
from typing import Any

from grader.errors import ErrorKind, OrganizerRefusal, ParticipantError
from grader.models import Competition
from grader.services.competitions import settings
from grader.services.competitions.acting import Act
from grader.text import one_line

MESSAGE_MAX_LENGTH = 500


class SubmissionsPaused(ParticipantError):
    """Submissions are paused."""

    public_name = "submissions_paused"
    kind = ErrorKind.FORBIDDEN
    message = (
        "Submissions are paused: {competition.pause_message} This upload does not count as a submission. The "
        "leaderboard stays available."
    )


def pause(act: Act, *, message: str, closes_at: datetime | None = None) -> Competition:
    """Pause submissions or change the message of a pause, and optionally move the close.

    Raise OrganizerRefusal or InvalidCompetition.
    """
    message, competition = _sentence(message), act.competition
    before = _state(competition)
    _move_close(act, closes_at, message)
    competition.paused_at = competition.paused_at or act.now
    competition.pause_message = message
    _record(act, "submissions.pause", before, f"Submissions were paused: {message}")
    return competition


def resume(act: Act, *, closes_at: datetime | None = None) -> Competition:
    """Resume submissions and optionally move the close; raise OrganizerRefusal or InvalidCompetition."""
    competition = act.competition
    if competition.paused_at is None:
        raise OrganizerRefusal("not_paused", ErrorKind.CONFLICT, "Submissions are not paused.")
    before = _state(competition)
    _move_close(act, closes_at, "Submissions were paused.")
    competition.paused_at, competition.pause_message = None, ""
    _record(act, "submissions.resume", before, "Submissions were resumed.")
    return competition


def _sentence(message: str) -> str:
    message = one_line(message, MESSAGE_MAX_LENGTH)
    if not message:
        needed = "The message is missing. Write the message that participants see during the pause."
        raise OrganizerRefusal("message_needed", ErrorKind.CONFLICT, needed)
    return message if message.endswith((".", "!", "?", "。")) else f"{message}."


def _move_close(act: Act, closes_at: datetime | None, reason: str) -> None:
    if closes_at is not None and closes_at != act.competition.closes_at:
        settings.change(act, changes={"closes_at": closes_at}, reason=reason)


def _record(act: Act, action: str, before: dict[str, Any], sentence: str) -> None:
    act.record(action, "submissions", before=before, after=_state(act.competition), public_text=sentence)


def _state(competition: Competition) -> dict[str, Any]:
    return {"paused_at": competition.paused_at, "pause_message": competition.pause_message}
