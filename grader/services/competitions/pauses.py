"""Pause submissions to a competition with a message to participants, and resume them.

Boards and pages stay readable, what was accepted goes on being scored, and picks can be changed.
"""

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from grader import db
from grader.errors import ErrorKind, OrganizerError, ParticipantError
from grader.models import Competition
from grader.services.audit import log
from grader.services.audit.log import Actor
from grader.services.competitions import lookup, settings
from grader.text.plain import one_line

MESSAGE_MAX_LENGTH = 500


class SubmissionsPaused(ParticipantError):
    """The organizers take no files for the moment."""

    public_name = "submissions_paused"
    kind = ErrorKind.FORBIDDEN

    def __init__(self, competition: Competition) -> None:
        super().__init__(
            f"Submissions are paused: {competition.pause_message} No submission used; the leaderboard stays "
            "open."
        )
        self.paused_at = competition.paused_at


class MessageNeeded(OrganizerError):
    """A pause needs a message for participants."""

    public_name = "message_needed"

    def __init__(self) -> None:
        super().__init__("Write the sentence that uploaders read while submissions are paused.")


class NotPaused(OrganizerError):
    """Only a paused competition can be resumed."""

    public_name = "not_paused"

    def __init__(self) -> None:
        super().__init__("Submissions are not paused.")


def pause(
    session: Session,
    *,
    competition: Competition,
    message: str,
    actor: Actor,
    closes_at: datetime | None = None,
    now: datetime | None = None,
) -> Competition:
    """Take no files until `resume`, or change the sentence; the close can move in the same act.

    Raises MessageNeeded, InvalidCompetition.
    """
    message = _sentence(message)
    competition = lookup.lock(session, competition_id=competition.id)
    now = now or db.now(session)
    before = _state(competition)
    _move_close(session, competition, closes_at, actor, message, now)
    competition.paused_at = competition.paused_at or now
    competition.pause_message = message
    session.flush()
    _record(
        session, competition, "submissions.pause", before, f"Submissions were paused: {message}", actor, now
    )
    return competition


def resume(
    session: Session,
    *,
    competition: Competition,
    actor: Actor,
    closes_at: datetime | None = None,
    now: datetime | None = None,
) -> Competition:
    """Take files again; the close can move in the same act. Raises NotPaused, InvalidCompetition."""
    competition = lookup.lock(session, competition_id=competition.id)
    now = now or db.now(session)
    if competition.paused_at is None:
        raise NotPaused
    before = _state(competition)
    _move_close(session, competition, closes_at, actor, "Submissions were paused.", now)
    competition.paused_at, competition.pause_message = None, ""
    session.flush()
    _record(session, competition, "submissions.resume", before, "Submissions were resumed.", actor, now)
    return competition


def _sentence(message: str) -> str:
    message = one_line(message, MESSAGE_MAX_LENGTH)
    if not message:
        raise MessageNeeded
    return message if message.endswith((".", "!", "?", "。")) else f"{message}."


def _move_close(
    session: Session,
    competition: Competition,
    closes_at: datetime | None,
    actor: Actor,
    reason: str,
    now: datetime,
) -> None:
    if closes_at is not None and closes_at != competition.closes_at:
        settings.change(
            session,
            competition=competition,
            changes={"closes_at": closes_at},
            actor=actor,
            reason=reason,
            now=now,
        )


def _record(
    session: Session,
    competition: Competition,
    action: str,
    before: dict[str, Any],
    sentence: str,
    actor: Actor,
    now: datetime,
) -> None:
    after = _state(competition)
    log.record(
        session,
        competition=competition,
        actor=actor,
        action=action,
        subject="submissions",
        before=before,
        after=after,
        public_text=sentence,
        now=now,
    )


def _state(competition: Competition) -> dict[str, Any]:
    paused_at = competition.paused_at
    return {"paused_at": paused_at and paused_at.isoformat(), "pause_message": competition.pause_message}
