"""Publication and rollback of scoring versions, the notice, and a team's old and new scores.

A single transaction under the competition's lock updates the live version, the submissions' statuses, the
standings and the notice to participants.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import Select, and_, or_, select
from sqlalchemy.orm import Session, contains_eager

from grader.crash_points import reach
from grader.errors import ErrorKind, OrganizerError, OrganizerRefusal
from grader.models import (
    Competition,
    ScoringJob,
    ScoringVersion,
    ScoringVersionState,
    Split,
    Submission,
    SubmissionStatus,
    Team,
    TeamMember,
    User,
)
from grader.services.competitions import boards, lookup, phases
from grader.services.competitions.acting import Act
from grader.services.competitions.metric import Rules
from grader.services.leaderboards import rows, score_history, shown_scores
from grader.services.leaderboards.score_history import OwnScore
from grader.services.rescoring import preparation
from grader.services.site import letters, outbox
from grader.services.solutions import data_files as files
from grader.services.submissions import scoring_jobs as jobs
from grader.text import plain_text
from grader.visibility import Viewer, visible_fields

NOTICE_MAX_LENGTH = 5_000
ROLL_BACK = "rescoring.roll_back"


class RescoringIncomplete(OrganizerError):
    """Some finished submissions have no result under the new version yet."""

    public_name = "rescoring_incomplete"
    retry_after = timedelta(seconds=10)


def publish(act: Act, *, number: int, notice: str = "", lose_scores: bool = False) -> ScoringVersion:
    """Make a prepared scoring version live.

    Pending submissions do not prevent publication, because a stream of new files could postpone it forever.
    Raises OrganizerRefusal, also if scores would be lost unless `lose_scores`, or
    RescoringIncomplete.
    """
    version = preparation.get_preparing(act, number)
    unfinished = preparation.progress(act.session, version=version).unfinished
    if unfinished:
        noun = "submission is" if unfinished == 1 else "submissions are"
        raise RescoringIncomplete(f"{unfinished:,} {noun} not yet scored under the new version.")
    files.require_checked(act.session, competition=act.competition)
    _switch(act, version, notice, lose_scores, "rescoring.publish")
    return version


def roll_back(
    act: Act, *, number: int, reason: str, notice: str = "", lose_scores: bool = False
) -> ScoringVersion:
    """Make an earlier version live again.

    This happens immediately if every submission has a result. Otherwise, the version is prepared again, with
    jobs for the missing results. The state of the returned version distinguishes the two cases. Raises
    OrganizerRefusal.
    """
    reason, session, competition = preparation.checked_reason(reason), act.session, act.competition
    version = preparation.get(session, competition=competition, number=number)
    if version.state is not ScoringVersionState.RETIRED:
        message = (
            f"Scoring version {version.number} is {version.state}. You can only roll back to a version "
            "that was live before."
        )
        raise OrganizerRefusal("not_retired", ErrorKind.CONFLICT, message)
    boards.require(competition, Rules.of(version))
    version.reason = reason
    preparation.add_missing_jobs(session, version=version, now=act.now)
    # The version's standings were not updated while it was retired.
    rows.write(session, competition=competition, scoring_version_id=version.id, splits=(Split.PUBLIC,))
    if preparation.progress(session, version=version).unfinished:
        preparation.begin_again(act, version)
    else:
        _switch(act, version, notice, lose_scores, ROLL_BACK)
    return version


def _switch(act: Act, version: ScoringVersion, notice: str, lose_scores: bool, action: str) -> None:
    session, competition, now = act.session, act.competition, act.now
    changed = _jobs_that_change_a_status(session, version)
    lost = sum(job.submission.status is SubmissionStatus.SCORED for job in changed)
    if lost and not lose_scores:
        noun = "submission would lose its score" if lost == 1 else "submissions would lose their scores"
        message = (
            f"{lost:,} {noun} because scoring failed under the new version. See the incidents in the log."
        )
        raise OrganizerRefusal("rescoring_loses_scores", ErrorKind.CONFLICT, message)
    retired = lookup.live(competition)
    retired.state = ScoringVersionState.RETIRED
    version.state = ScoringVersionState.LIVE
    version.published_at, version.replaced_number = now, retired.number
    version.notice = plain_text(notice)
    if len(version.notice) > NOTICE_MAX_LENGTH:
        message = (
            f"Shorten the message of {len(version.notice):,} characters to at most {NOTICE_MAX_LENGTH:,}."
        )
        raise OrganizerRefusal("notice_too_long", ErrorKind.CONFLICT, message)
    competition.live_scoring_version = version
    for job in changed:
        jobs.show_result(job)
    session.flush()
    if competition.settled_at is not None:
        rows.write(session, competition=competition, scoring_version_id=version.id, splits=(Split.PRIVATE,))
    act.record(
        action,
        f"scoring version {version.number}",
        before={"scoring_version": retired.number},
        after={"scoring_version": version.number, "lost_scores": lost, "notice": version.notice},
        reason=version.reason,
        public_text=f"All scores now use scoring version {version.number}: {version.reason}",
    )
    if version.notice:
        letters.send(
            session,
            "rescored",
            session.scalars(_members(competition)),
            kind=outbox.Notice.RESULTS,
            key=f"rescored:{version.id}:{now:%Y%m%dT%H%M%S%f}",
            competition=competition,
            version=version,
            now=now,
        )
    reach("publish.before_commit")


def _jobs_that_change_a_status(session: Session, version: ScoringVersion) -> Sequence[ScoringJob]:
    """Return the new version's jobs whose results differ from the statuses of their submissions."""
    differs = [
        and_(ScoringJob.state == state, Submission.status != status)
        for state, status in jobs.STATUS_OF.items()
    ]
    return session.scalars(
        select(ScoringJob)
        .join(ScoringJob.submission)
        .where(ScoringJob.scoring_version_id == version.id, or_(*differs))
        .options(contains_eager(ScoringJob.submission))
    ).all()


def latest(competition: Competition) -> ScoringVersion | None:
    """Return the live scoring version if it replaced another one."""
    version = competition.live_scoring_version
    return None if version is None or version.replaced_number is None else version


def news(competition: Competition) -> ScoringVersion | None:
    """Return the last publication of a rescoring, or None if the reveal came after it."""
    published, revealed_at = latest(competition), competition.revealed_at
    is_old = published and published.published_at and revealed_at and published.published_at < revealed_at
    return None if is_old else published


def scores_of_team(
    session: Session, *, competition: Competition, team: Team, now: datetime
) -> list[tuple[OwnScore, OwnScore]]:
    """Return a team's displayed scores before and after the last publication, newest first."""
    version = latest(competition)
    if version is None or version.replaced_number is None:
        return []
    replaced = preparation.get(session, competition=competition, number=version.replaced_number)
    allowed = visible_fields(Viewer.TEAM, phases.phase(competition, now), competition.feedback)
    before, after = (
        score_history.own_scores(session, team=team, version=each, allowed=allowed)
        for each in (replaced, version)
    )
    return [
        (old, new)
        for old, new in reversed(list(zip(before, after, strict=True)))
        if (old.score or new.score) and new.submission.kind in shown_scores.KINDS
    ]


def count_readers(session: Session, *, competition: Competition) -> int:
    """Return the number of team members who would receive a message."""
    return outbox.count_readers(session, _members(competition), outbox.Notice.RESULTS)


def _members(competition: Competition) -> Select[User]:
    of_team = select(TeamMember.user_id).where(TeamMember.competition_id == competition.id)
    return select(User).where(User.id.in_(of_team)).order_by(User.id)
