"""Moderation decisions: disqualify or reinstate a team, mark a submission."""

from datetime import datetime

from grader.errors import ErrorKind, OrganizerRefusal
from grader.models import Submission, SubmissionKind, Team
from grader.services.competitions.acting import Act
from grader.services.leaderboards import rows
from grader.services.site import log
from grader.services.teams import limits, mail, moderation
from grader.services.teams.moderation import REASON_MAX_LENGTH
from grader.text import one_line


def disqualify(act: Act, *, team: str, reason: str) -> Team:
    """Disqualify a team: remove it from every leaderboard and block its uploads until it is reinstated.

    Its members cannot leave it. Raises OrganizerRefusal.
    """
    reason = moderation.require_reason(reason, "disqualification")
    target = moderation.find(act, team)
    if target.disqualified_at is not None:
        message = f"{target.name} is already disqualified: {target.disqualification_reason}"
        raise OrganizerRefusal("already_disqualified", ErrorKind.CONFLICT, message)
    return _decide(act, target, "disqualify", disqualified_at=act.now, reason=reason)


def reinstate(act: Act, *, team: str, reason: str = "") -> Team:
    """Reinstate a disqualified team on the leaderboards; raise UnknownTeam or OrganizerRefusal."""
    target = moderation.find(act, team)
    if target.disqualified_at is None:
        raise OrganizerRefusal("not_disqualified", ErrorKind.CONFLICT, f"{target.name} is not disqualified.")
    return _decide(act, target, "reinstate", disqualified_at=None, reason=one_line(reason, REASON_MAX_LENGTH))


def _decide(act: Act, target: Team, verb: str, *, disqualified_at: datetime | None, reason: str) -> Team:
    before = {"disqualified_at": target.disqualified_at, "reason": target.disqualification_reason}
    target.disqualified_at = disqualified_at
    target.disqualification_reason = reason if disqualified_at else ""
    _show(act, target.id)
    done = "disqualified" if disqualified_at else "reinstated"
    mail.moderated(act.session, done, competition=act.competition, team=target, now=act.now)
    act.record(
        f"team.{verb}",
        f"team {log.mention(target)}",
        before=before,
        after={"disqualified_at": disqualified_at, "reason": target.disqualification_reason},
        reason=reason,
        public_text=f"The team {log.mention(target)} was {done}.",
    )
    return target


def mark(act: Act, *, submission_id: int, kind: SubmissionKind) -> Submission:
    """Mark a submission as ranked, as a benchmark without a rank, or as hidden.

    Benchmarks and hidden submissions do not count towards the limits and cannot be selected. Raises
    OrganizerRefusal, and ValueError for LATE.
    """
    if kind is SubmissionKind.LATE:
        raise ValueError("Submissions are late because of their time and cannot be marked as late.")
    submission = act.session.get(Submission, submission_id)
    if submission is None or submission.competition_id != act.competition.id:
        message = f"There is no submission #{submission_id} in this competition."
        raise OrganizerRefusal("unknown_submission_here", ErrorKind.NOT_FOUND, message)
    if submission.team.is_organizers and kind not in (SubmissionKind.BENCHMARK, SubmissionKind.HIDDEN):
        message = (
            f"Submission #{submission_id} is a test submission of the organizers. It can be a benchmark "
            "or hidden, but it cannot have a rank."
        )
        raise OrganizerRefusal("only_a_test", ErrorKind.CONFLICT, message)
    before, submission.kind = submission.kind, kind
    submission.is_selected = submission.is_selected and kind is SubmissionKind.NORMAL
    limits.update_slot(submission)
    _show(act, submission.team_id)
    act.record(
        "submission.mark",
        f"submission {submission.id}",
        before={"kind": before},
        after={"kind": kind},
        public_text=_public_text(submission, before),
    )
    return submission


def _public_text(submission: Submission, before: SubmissionKind) -> str:
    """Return the public log's text about the changed kind of a submission."""
    if submission.kind is before:
        return ""
    texts = {
        SubmissionKind.BENCHMARK: "is now a benchmark: it is shown without a rank",
        SubmissionKind.HIDDEN: "is no longer on any leaderboard",
        SubmissionKind.NORMAL: "now competes for its team",
    }
    return f"Submission #{submission.id} {texts[submission.kind]}."


def _show(act: Act, team_id: int) -> None:
    act.session.flush()
    rows.rebuild(act.session, competition=act.competition, team_ids=[team_id])
