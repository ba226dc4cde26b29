"""Final selection for the private leaderboard, by the team or automatic.

A team selects up to N submissions. After the close, its best submissions by exact public score fill the
remaining slots. The selection can be changed until the close, or until a later deadline if organizers
reopened it or gave the team an extension, but never after the reveal. A merger keeps the selections of both
teams, which may exceed N.
"""

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func
from sqlalchemy import select as select_rows
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, OrganizerRefusal, Refusal
from grader.models import Competition, Submission, SubmissionKind, SubmissionStatus, Team
from grader.ranking import order
from grader.services.competitions import phases
from grader.services.competitions.acting import Act
from grader.services.leaderboards import score_history, shown_scores
from grader.services.leaderboards.score_history import OwnScore
from grader.services.site import log
from grader.services.submissions import accepting
from grader.text import counted
from grader.visibility import Phase


class Reason(enum.StrEnum):
    """Reasons why a submission would compete."""

    PICKED = "picked"
    PICKED_WAITING = "picked_waiting"
    AUTOMATIC = "automatic"


@dataclass(frozen=True, slots=True)
class CurrentSelection:
    """The submissions of a team that would compete if the competition closed now.

    `reasons` contains the submissions that would compete, selected ones first. A coarse mode hides the exact
    public scores until the reveal. `reasons` then contains only selected submissions, and `filled_later` is
    the number of slots that other submissions will fill. `excess` is the number of submissions that a team
    has selected above the limit after a merger. Until it deselects them, its best selected submissions by
    public score compete.
    """

    limit: int
    reasons: dict[int, Reason]
    picked_ids: tuple[int, ...]
    filled_later: int = 0

    @property
    def excess(self) -> int:
        """The number of submissions that must be deselected."""
        return max(0, len(self.picked_ids) - self.limit)


def select(act: Act, *, submission_id: int, is_selected: bool = True) -> Submission:
    """Select a submission of the user's team for the private leaderboard, or deselect it.

    Raises UnknownSubmission or Refusal.
    """
    session, competition = act.session, act.competition
    submission = accepting.get_own(session, user=act.user, submission_id=submission_id)
    if not is_open(competition, act.now, submission.team):
        raise _closed(competition, submission.team)
    session.refresh(submission)
    if is_selected and not submission.is_selected:
        if not is_selectable(submission):
            why = "was rejected" if submission.status is SubmissionStatus.REJECTED else "does not compete"
            message = f"Submission #{submission.id} {why} and cannot be selected."
            raise Refusal("not_selectable", ErrorKind.CONFLICT, message)
        picked = [each.id for each in shown_scores.selected(session, team=submission.team)]
        if len(picked) >= competition.selection_count:
            raise _too_many(competition.selection_count, picked)
    submission.is_selected = is_selected
    session.flush()
    return submission


def is_open(competition: Competition, now: datetime, team: Team | None) -> bool:
    """Return whether a team can change its selection at `now`."""
    match phases.phase(competition, now):
        case Phase.SCHEDULED | Phase.OPEN:
            return True
        case Phase.CLOSED:
            until = closes_at(competition, team)
            return until is not None and now < until
        case _:
            return False


def closes_at(competition: Competition, team: Team | None) -> datetime | None:
    """Return the time at which a team's selection closes: the competition's close, or a later deadline."""
    close, deadline = phases.closes_at(competition, team), competition.selection_deadline
    return max(close, deadline) if close and deadline else close


def reopen(act: Act, *, until: datetime, reason: str) -> None:
    """Reopen the selection until a later time, delaying an earlier reveal; raise OrganizerRefusal."""
    competition = act.competition
    _delay_reveal(act, until, "final selection")
    before, competition.selection_deadline = competition.selection_deadline, until
    act.record(
        "selection.reopen",
        "final selection",
        before={"selection_deadline": before},
        after={"selection_deadline": until},
        reason=reason,
        public_text=f"The final selection can be changed until {until:%-d %b %Y, %H:%M} UTC: {reason}",
    )


def _delay_reveal(act: Act, until: datetime, what: str) -> None:
    """Delay an earlier reveal until a deadline; raise OrganizerRefusal if it cannot move to this time."""
    competition, message = act.competition, ""
    if phases.phase(competition, act.now) is Phase.REVEALED:
        message = f"The private leaderboard is revealed, so the {what} cannot be extended."
    elif competition.closes_at is None:
        message = f"The competition has no closing date, so the {what} cannot be extended."
    elif until <= max(act.now, competition.closes_at):
        message = (
            f"The {what} cannot be extended until {until:%-d %b %Y, %H:%M} UTC. Choose a time in the future "
            "and after the close."
        )
    if message:
        raise OrganizerRefusal("selection_stays", ErrorKind.CONFLICT, message)
    if competition.reveals_at is not None and competition.reveals_at < until:
        competition.reveals_at = until


def extend(act: Act, *, team: Team, until: datetime, reason: str) -> None:
    """Let a team submit and select files until a later time, delaying the reveal; raise OrganizerRefusal."""
    competition = act.competition
    if team.is_organizers or team.merged_into_id is not None:
        message = f"The team {team.name} does not compete, so it cannot get an extension."
        raise OrganizerRefusal("selection_stays", ErrorKind.CONFLICT, message)
    _delay_reveal(act, until, "deadline of the team")
    before, team.extended_until = team.extended_until, until
    act.session.flush()
    own = Team.competition_id == competition.id, Team.merged_into_id.is_(None)
    competition.extended_until = act.session.scalar(select_rows(func.max(Team.extended_until)).where(*own))
    act.record(
        "team.extend",
        f"team {log.mention(team)}",
        before={"extended_until": before},
        after={"extended_until": until},
        reason=reason,
        public_text=(
            f"The team {log.mention(team)} may submit files until {until:%-d %b %Y, %H:%M} UTC: {reason}"
        ),
    )


def extended_count(session: Session, *, competition: Competition, now: datetime) -> int:
    """Return the number of teams that may submit files after `now` because of an extension."""
    query = select_rows(func.count()).where(
        Team.competition_id == competition.id, Team.merged_into_id.is_(None), Team.extended_until > now
    )
    return session.scalar(query) or 0


def is_selectable(submission: Submission) -> bool:
    """Return whether a submission may be selected, even if it is not scored yet."""
    is_normal = submission.kind is SubmissionKind.NORMAL
    return is_normal and submission.status is not SubmissionStatus.REJECTED


def would_count(session: Session, *, competition: Competition, team: Team, now: datetime) -> CurrentSelection:
    """Return the team's submissions that would compete now, and the reasons."""
    files = score_history.own_files(session, competition=competition, team=team, now=now)
    return counting(competition, files, now=now)


def counting(competition: Competition, files: Iterable[OwnScore], *, now: datetime) -> CurrentSelection:
    """Return which of a team's files, as the team sees them, would compete now, and the reasons."""
    limit = competition.selection_count
    selectable = [each for each in files if is_selectable(each.submission)]
    picked = [each.submission.id for each in selectable if each.submission.is_selected]
    scored = [each for each in selectable if each.submission.status is SubmissionStatus.SCORED]
    if competition.feedback.is_coarse and phases.phase(competition, now) is not Phase.REVEALED:
        ready = [each.submission.id for each in scored]
        reasons = {each: Reason.PICKED if each in ready else Reason.PICKED_WAITING for each in picked}
        others = len(set(ready) - set(picked))
        free = min(max(0, limit - len(picked)), others)
        return CurrentSelection(limit, reasons, tuple(picked), free)
    entries = [entry for each in scored if (entry := each.entry) is not None]
    best_first = [entry.submission_id for entry in sorted(entries, key=order.order)]
    ready = [each for each in best_first if each in picked]
    waiting = [each for each in picked if each not in ready][: max(0, limit - len(ready))]
    counting = order.select_automatically(entries, picked=ready, count=limit - len(waiting))
    reasons = {each: Reason.PICKED if each in ready else Reason.AUTOMATIC for each in counting}
    reasons |= dict.fromkeys(waiting, Reason.PICKED_WAITING)
    return CurrentSelection(limit, reasons, tuple(picked))


def _closed(competition: Competition, team: Team) -> Refusal:
    closed_at = closes_at(competition, team)
    when = f" at {closed_at:%-d %b %Y, %H:%M:%S} UTC" if closed_at else ""
    with_it = "" if closed_at != competition.closes_at else " with the competition"
    return Refusal("selection_closed", ErrorKind.FORBIDDEN, f"The final selection closed{with_it}{when}.")


def _too_many(limit: int, selected: list[int]) -> Refusal:
    names = ", ".join(f"#{submission_id}" for submission_id in selected)
    message = (
        f"You can select at most {counted(limit, 'submission')}, and {names} "
        f"{'is' if len(selected) == 1 else 'are'} selected. Deselect one first."
    )
    return Refusal("too_many_selected", ErrorKind.CONFLICT, message, limit=limit, selected=selected)
