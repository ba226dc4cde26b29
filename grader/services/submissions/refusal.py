"""Reasons to reject an upload: phase, pause, entry, disqualification, repetition, and `teams.limits`.

These functions read no data: they decide from a given situation. Therefore, the Submissions page, the
forecast before a file is stored, and the acceptance under the competition's lock always agree.
"""

from datetime import datetime
from typing import Any

from grader.errors import ErrorKind, ParticipantError, Refusal
from grader.models import Competition, CompetitionState, Submission, SubmissionKind, SubmissionStatus, Team
from grader.services.competitions import phases
from grader.services.submissions.situation import KEY_MAX_LENGTH, Repeats, SentFile, Situation
from grader.services.teams import limits, participations
from grader.visibility import Phase


class NothingToScore(ParticipantError):
    """A draft without a solution cannot score files."""

    public_name = "nothing_to_score"
    kind = ErrorKind.CONFLICT
    message = "This competition has no solution yet, so files cannot be scored."


class IdenticalFile(ParticipantError):
    """The team has submitted the same bytes before, and that submission is pending or scored."""

    public_name = "identical_file"
    kind = ErrorKind.CONFLICT

    def __init__(self, earlier: Submission) -> None:
        waits = " That submission is not scored yet." if earlier.status is SubmissionStatus.PENDING else ""
        sent = f"{earlier.submitted_at:%-d %b %Y, %H:%M} UTC"
        super().__init__(
            f"This file is identical to submission #{earlier.id} from {sent}. It does not count as a "
            f"submission.{waits}"
        )
        self.submission_id = earlier.id

    @property
    def details(self) -> dict[str, Any]:
        return {"submission": self.submission_id}


def refusal(situation: Situation) -> ParticipantError | None:
    """Return the reason to reject an upload; None if it is accepted or repeats an accepted one.

    If there is no file, return the reason to reject any file.
    """
    competition, now, file, earlier = situation.competition, situation.now, situation.file, situation.earlier
    refused = _of_competition(competition) or (_of_key(file, earlier) if file else None)
    if refused is not None or situation.repeated is not None:
        return refused
    identical = IdenticalFile(earlier.of_bytes) if file and earlier.of_bytes and not file.again else None
    if situation.is_test:
        return identical
    other = situation.competes_in
    return (
        _of_phase(competition, now, situation.team)
        or participations.refusal(competition, situation.participation, now=now)
        or _of_team(situation.team)
        or identical
        or limits.refusal(situation.allowance, now=now)
        or (participations.competes_elsewhere(other, competition) if other else None)
    )


def kind(situation: Situation) -> SubmissionKind:
    """Return the kind of an accepted upload: normal, late, or an organizer's test."""
    if situation.is_test:
        return SubmissionKind.HIDDEN
    is_late = phases.phase(situation.competition, situation.now) is Phase.REVEALED
    return SubmissionKind.LATE if is_late else SubmissionKind.NORMAL


def _of_phase(competition: Competition, now: datetime, team: Team | None) -> Refusal | None:
    """Return the reason why teams, or a team with an extension, may not submit at `now`; None if they may."""
    phase = phases.of_team(competition, team, now)
    if phase is Phase.SCHEDULED:
        opens_at = competition.opens_at
        when = f" It opens at {opens_at:%-d %b %Y, %H:%M:%S} UTC." if opens_at else ""
        message = f"This competition is not open yet.{when}"
        return Refusal("competition_not_open", ErrorKind.FORBIDDEN, message)
    if phase is not Phase.CLOSED and competition.paused_at is not None:
        message = f"Submissions are paused: {competition.pause_message} The leaderboard stays available."
        return Refusal("submissions_paused", ErrorKind.FORBIDDEN, message)
    is_late = phase is Phase.REVEALED and competition.takes_late_submissions
    if not (phase is Phase.OPEN or is_late):
        when = f" at {competition.closes_at:%-d %b %Y, %H:%M:%S} UTC" if competition.closes_at else ""
        message = f"This competition closed{when} and does not accept files now."
        return Refusal("competition_closed", ErrorKind.FORBIDDEN, message)
    return None


def _of_key(file: SentFile, earlier: Repeats) -> Refusal | None:
    """Return the error about a file's idempotency key, or None if the key is valid."""
    if file.idempotency_key is not None and not file.has_valid_key:
        message = (
            f"The Idempotency-Key is invalid. Use 1 to {KEY_MAX_LENGTH} printable ASCII characters, such as "
            "a UUID."
        )
        return Refusal("invalid_idempotency_key", ErrorKind.INVALID, message)
    if earlier.of_key is not None and earlier.of_key.sha256 != file.sha256:
        message = (
            f"This Idempotency-Key belongs to submission #{earlier.of_key.id}, which has a different file. "
            "This request does not count as a submission. Send a new file with a new key."
        )
        return Refusal("idempotency_key_reused", ErrorKind.MISMATCH, message, submission=earlier.of_key.id)
    return None


def _of_team(team: Team | None) -> Refusal | None:
    if team is None or team.disqualified_at is None:
        return None
    why = team.disqualification_reason
    message = f"Your team cannot submit files because the organizers disqualified it: {why}"
    return Refusal("team_disqualified", ErrorKind.FORBIDDEN, message)


def _of_competition(competition: Competition) -> NothingToScore | Refusal | None:
    if competition.live_scoring_version is None:
        return NothingToScore()
    if competition.state is not CompetitionState.ARCHIVED:
        return None
    message = "This competition is archived. The file was not accepted."
    return Refusal("competition_archived", ErrorKind.FORBIDDEN, message)
