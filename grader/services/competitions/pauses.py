"""Pausing and resuming submissions.

During a pause, all pages stay available, accepted submissions are scored, and selections can be changed.
"""

from typing import Any

from grader.errors import ErrorKind, OrganizerRefusal, ParticipantError
from grader.models import Competition
from grader.services.competitions.acting import Act
from grader.text import one_line

MESSAGE_MAX_LENGTH = 500


class SubmissionsPaused(ParticipantError):
    """Submissions are paused."""

    public_name = "submissions_paused"
    kind = ErrorKind.FORBIDDEN
    message = "Submissions are paused: {competition.pause_message} The leaderboard stays available."


def pause(act: Act, *, message: str) -> Competition:
    """Pause submissions or change the message of a pause; raise OrganizerRefusal."""
    message, competition = _sentence(message), act.competition
    before = _state(competition)
    competition.paused_at = competition.paused_at or act.now
    competition.pause_message = message
    _record(act, "submissions.pause", before, f"Submissions were paused: {message}")
    return competition


def resume(act: Act) -> Competition:
    """Resume submissions; raise OrganizerRefusal."""
    competition = act.competition
    if competition.paused_at is None:
        raise OrganizerRefusal("not_paused", ErrorKind.CONFLICT, "Submissions are not paused.")
    before = _state(competition)
    competition.paused_at, competition.pause_message = None, ""
    _record(act, "submissions.resume", before, "Submissions were resumed.")
    return competition


def _sentence(message: str) -> str:
    message = one_line(message, MESSAGE_MAX_LENGTH)
    if not message:
        needed = "The message is missing. Write the message that participants see during the pause."
        raise OrganizerRefusal("message_needed", ErrorKind.CONFLICT, needed)
    return message if message.endswith((".", "!", "?", "。")) else f"{message}."


def _record(act: Act, action: str, before: dict[str, Any], sentence: str) -> None:
    act.record(action, "submissions", before=before, after=_state(act.competition), public_text=sentence)


def _state(competition: Competition) -> dict[str, Any]:
    return {"paused_at": competition.paused_at, "pause_message": competition.pause_message}
