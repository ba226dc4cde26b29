"""Publication, pauses and archiving of competitions; what prevents a publication (see `settings_problems`).

The phases scheduled, open and closed depend only on the time. For the reveal, see `closing`. During a pause,
all pages stay available, accepted submissions are scored, and selections can be changed.
"""

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from grader.errors import ErrorKind, OrganizerRefusal
from grader.models import Competition, CompetitionState
from grader.services.competitions import boards, settings_warnings
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.acting import Act
from grader.services.competitions.metric import Rules
from grader.services.competitions.phases import Archived
from grader.services.competitions.settings_problems import Fault, InvalidCompetition, problems
from grader.services.solutions import data_files as files
from grader.text import one_line

SOLUTION = "solution"


class NotReady(InvalidCompetition):
    """The draft cannot be published because something is missing or invalid."""

    public_name = "not_ready"


def missing(session: Session, *, competition: Competition, now: datetime) -> list[Fault]:
    """Return the problems of settings, the `SOLUTION` and data files that prevent a publication."""
    version, settings = competition.live_scoring_version, competition_settings.of(competition)
    if version is None:
        sentence = "No solution has been accepted. Upload one and accept the result of its check."
        faults = [Fault(sentence, (SOLUTION,))]
    else:
        faults = [Fault(each, ("boards",)) for each in boards.faults(competition.boards, Rules.of(version))]
    faults += competition_settings.past_close(settings.closes_at, now)
    faults += problems(settings.changed(opens_at=settings.opens_at or now), is_draft=False)
    return faults + files.faults(session, competition=competition)


def publish(act: Act) -> Competition:
    """Publish a draft, which opens at its opening time or, if it has none, immediately.

    Missing dates are derived from the close. Raise OrganizerRefusal or NotReady.
    """
    competition, now = act.competition, act.now
    if competition.state is not CompetitionState.DRAFT:
        message = f"{competition.slug} is already published."
        raise OrganizerRefusal("already_published", ErrorKind.CONFLICT, message)
    if lacking := missing(act.session, competition=competition, now=now):
        raise NotReady(lacking)
    competition.opens_at = competition.opens_at or now
    competition_settings.fill_in_dates(competition)
    _change(act, CompetitionState.PUBLISHED, "competition.publish", "The competition was published.")
    return competition


def archive(act: Act, *, reason: str = "") -> Competition:
    """Archive a competition, which stays visible but is closed to submissions.

    Raise OrganizerRefusal or Archived.
    """
    if act.competition.state is CompetitionState.DRAFT:
        message = "A draft cannot be archived. Publish it first or delete it."
        raise OrganizerRefusal("not_archivable", ErrorKind.CONFLICT, message)
    if act.competition.state is CompetitionState.ARCHIVED:
        raise Archived
    sentence = "The competition was archived."
    _change(act, CompetitionState.ARCHIVED, "competition.archive", sentence, reason=reason)
    return act.competition


def unarchive(act: Act, *, reason: str = "") -> Competition:
    """Return an archived competition to its previous state; raise OrganizerRefusal."""
    if act.competition.state is not CompetitionState.ARCHIVED:
        raise OrganizerRefusal("not_archived", ErrorKind.CONFLICT, f"{act.competition.slug} is not archived.")
    state = CompetitionState.REVEALED if act.competition.revealed_at else CompetitionState.PUBLISHED
    sentence = "The competition was unarchived."
    _change(act, state, "competition.unarchive", sentence, reason=reason)
    return act.competition


def _change(act: Act, state: CompetitionState, action: str, public_text: str, *, reason: str = "") -> None:
    before, act.competition.state = act.competition.state, state
    act.record(
        action,
        f"competition {act.competition.slug}",
        before={"state": before},
        after={"state": state},
        reason=reason,
        public_text=public_text,
    )


def suggestions(
    session: Session, *, competition: Competition, lacks_baseline: bool, now: datetime
) -> list[Fault]:
    """Return the suggestions for a competition, each with the names of the settings."""
    faults = []
    if not competition.overview:
        faults.append(Fault("The overview is empty, so participants see a default text.", ("overview",)))
    if competition.closes_at is None:
        words = "There is no closing date, so entry, mergers and the reveal have no dates either."
        faults.append(Fault(words, ("closes_at",)))
    if not competition.rules:
        words = "There are no rules, so participants join with their first submission."
        faults.append(Fault(words, ("rules",)))
    faults += settings_warnings.small_step_warnings(competition)
    if competition.state is CompetitionState.DRAFT:
        past = settings_warnings.date_warnings(competition, now)
        faults += [fault for fault in past if "closes_at" not in fault.names]
    if not files.list_all(session, competition=competition):
        faults.append(Fault("There are no data files to download.", (files.DATA,)))
    if lacks_baseline:
        faults.append(Fault("The only baseline is the sample submission.", (files.DATA,)))
    return faults


MESSAGE_MAX_LENGTH = 500


def pause(act: Act, *, message: str) -> Competition:
    """Pause submissions or change the message of a pause; raise OrganizerRefusal."""
    message, competition = _pause_message(message), act.competition
    before = _pause_of(competition)
    competition.paused_at = competition.paused_at or act.now
    competition.pause_message = message
    _record_pause(act, "submissions.pause", before, f"Submissions were paused: {message}")
    return competition


def resume(act: Act) -> Competition:
    """Resume submissions; raise OrganizerRefusal."""
    competition = act.competition
    if competition.paused_at is None:
        raise OrganizerRefusal("not_paused", ErrorKind.CONFLICT, "Submissions are not paused.")
    before = _pause_of(competition)
    competition.paused_at, competition.pause_message = None, ""
    _record_pause(act, "submissions.resume", before, "Submissions were resumed.")
    return competition


def _pause_message(message: str) -> str:
    message = one_line(message, MESSAGE_MAX_LENGTH)
    if not message:
        needed = "The message is missing. Write the message that participants see during the pause."
        raise OrganizerRefusal("message_needed", ErrorKind.CONFLICT, needed)
    return message if message.endswith((".", "!", "?", "。")) else f"{message}."


def _record_pause(act: Act, action: str, before: dict[str, Any], sentence: str) -> None:
    act.record(action, "submissions", before=before, after=_pause_of(act.competition), public_text=sentence)


def _pause_of(competition: Competition) -> dict[str, Any]:
    return {"paused_at": competition.paused_at, "pause_message": competition.pause_message}
