"""Publication and rollback of scoring versions, with compensation for participants.

A single transaction under the competition's lock updates the live version, the submissions' statuses, the
standings, the notices and the compensation, which can be extra submissions, a later
close or a reopened selection.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from sqlalchemy import and_, func, or_, select
from sqlalchemy.orm import Session, contains_eager

from grader import db
from grader.crash_points import reach
from grader.errors import OrganizerError, SeveralProblems
from grader.models import (
    Competition,
    ScoringJob,
    ScoringVersion,
    ScoringVersionState,
    Split,
    Submission,
    SubmissionStatus,
)
from grader.services.audit.log import Actor
from grader.services.competitions import boards, lookup, settings
from grader.services.competitions.acting import Act
from grader.services.competitions.metric import Rules
from grader.services.data_files import files
from grader.services.jobs import leased_rows
from grader.services.limits import grants
from grader.services.rescoring import mail, preparation
from grader.services.scoring import jobs
from grader.services.solutions import publication
from grader.services.standings import rows
from grader.services.submissions import selections
from grader.text import counted, plain_text

NOTICE_MAX_LENGTH = 5_000
ROLL_BACK = "rescoring.roll_back"


class InvalidPublication(SeveralProblems, OrganizerError):
    """The compensation of a publication is invalid."""

    public_name = "invalid_publication"


@dataclass(frozen=True, slots=True)
class Amends:
    """The compensation that accompanies a publication; by default, there is none.

    The `notice` is e-mailed and shown together with the old and new public scores of a team's submissions.
    `extra_day` defaults to the day of the publication (UTC).
    """

    notice: str = ""
    extra_submissions: int = 0
    extra_day: date | None = None
    closes_at: datetime | None = None
    selection_deadline: datetime | None = None


NO_AMENDS = Amends()


def _notice(act: Act, amends: Amends) -> str:
    """Return the organizer's message followed by the compensation; empty if there is no message."""
    words = plain_text(amends.notice)
    if len(words) > NOTICE_MAX_LENGTH:
        raise InvalidPublication(
            [f"The message has {len(words):,} characters. Shorten it to at most {NOTICE_MAX_LENGTH:,}."]
        )
    sentences = " ".join(_sentences(act, amends))
    return f"{words}\n\n{sentences}" if words and sentences else words


def _sentences(act: Act, amends: Amends) -> Iterator[str]:
    if amends.extra_submissions:
        day = amends.extra_day or act.now.astimezone(UTC).date()
        submissions = counted(amends.extra_submissions, "extra submission")
        closes_at = amends.closes_at or act.competition.closes_at
        until = grants.ends_at(act.competition, day=day, closes_at=closes_at)
        yield f"Every team gets {submissions} on {day:%Y-%m-%d} (UTC), until {until:%Y-%m-%d %H:%M} UTC."
    if amends.closes_at is not None and amends.closes_at != act.competition.closes_at:
        yield f"The competition now closes at {amends.closes_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC."
    if amends.selection_deadline is not None:
        until = amends.selection_deadline.astimezone(UTC)
        yield f"The final selection can be changed until {until:%Y-%m-%d %H:%M} UTC."


def _compensate(act: Act, amends: Amends, version: ScoringVersion) -> None:
    """Apply the compensation; raise InvalidPublication if parts of it cannot be applied."""
    reason = f"Scoring version {version.number} was published."
    problems: list[str] = []
    if amends.closes_at is not None and amends.closes_at != act.competition.closes_at:
        with _collected(problems):
            settings.change(act, changes={"closes_at": amends.closes_at}, reason=reason)
    if amends.selection_deadline is not None:
        with _collected(problems):
            selections.reopen(act, until=amends.selection_deadline, reason=reason)
    if amends.extra_submissions:
        day = amends.extra_day or act.now.astimezone(UTC).date()
        with _collected(problems):
            grants.grant(act, team=None, day=day, count=amends.extra_submissions, reason=reason)
    if problems:
        raise InvalidPublication(problems)


@contextmanager
def _collected(problems: list[str]) -> Iterator[None]:
    try:
        yield
    except OrganizerError as error:
        problems += getattr(error, "problems", (error.message,))


class RescoringIncomplete(OrganizerError):
    """Some finished submissions have no result under the new version yet."""

    public_name = "rescoring_incomplete"
    retry_after = timedelta(seconds=10)

    def __init__(self, count: int) -> None:
        noun = "submission is" if count == 1 else "submissions are"
        super().__init__(f"{count:,} {noun} not yet scored under the new version.")
        self.count = count


class RescoringLosesScores(OrganizerError):
    """Some submissions would lose their scores under the new version."""

    public_name = "rescoring_loses_scores"

    def __init__(self, count: int) -> None:
        noun = "submission would lose its score" if count == 1 else "submissions would lose their scores"
        super().__init__(
            f"{count:,} {noun} because scoring failed under the new version. The log contains the "
            "incident ids."
        )
        self.count = count


class NotRetired(OrganizerError):
    """Only a version that was live before can be restored."""

    public_name = "not_retired"
    message = (
        "Scoring version {version.number} is {version.state}. You can only roll back to a version that was "
        "live before."
    )


def publish(
    session: Session,
    *,
    scoring_version_id: int,
    actor: Actor,
    amends: Amends = NO_AMENDS,
    lose_scores: bool = False,
    now: datetime | None = None,
) -> ScoringVersion:
    """Make a prepared scoring version live.

    Pending submissions do not prevent publication, because a stream of new files could postpone it forever.
    Raises NotPreparing, RescoringIncomplete, RescoringLosesScores (unless `lose_scores`), DataUnchecked and
    InvalidPublication.
    """
    version, competition = preparation.lock_preparing(session, scoring_version_id)
    now = now or db.now(session)
    unfinished = _count_unfinished(session, version)
    if unfinished:
        raise RescoringIncomplete(unfinished)
    files.require_checked(session, competition=competition)
    _switch(Act(session, competition, actor, now), version, amends, lose_scores, "rescoring.publish")
    return version


def roll_back(
    session: Session,
    *,
    competition: Competition,
    number: int,
    reason: str,
    actor: Actor,
    amends: Amends = NO_AMENDS,
    lose_scores: bool = False,
    now: datetime | None = None,
) -> ScoringVersion:
    """Make an earlier version live again.

    This happens immediately if every submission has a result. Otherwise, the version is prepared again, with
    jobs for the missing results. The state of the returned version distinguishes the two cases. Raises
    UnknownScoringVersion, NotRetired, RescoringUnderWay, RescoringLosesScores, ReasonNeeded,
    BoardsNeedValues or InvalidPublication.
    """
    reason = preparation.checked_reason(reason)
    competition = lookup.lock(session, competition_id=competition.id)
    now = now or db.now(session)
    version = preparation.get(session, competition=competition, number=number)
    if version.state is not ScoringVersionState.RETIRED:
        raise NotRetired(version=version)
    boards.require(competition, Rules.of(version))
    version.reason = reason
    preparation.add_missing_jobs(session, version=version, now=now)
    # The version's standings were not updated while it was retired.
    rows.write(session, competition=competition, scoring_version_id=version.id, splits=(Split.PUBLIC,))
    if _count_unfinished(session, version):
        preparation.begin_again(session, competition=competition, version=version, actor=actor, now=now)
        return version
    _switch(Act(session, competition, actor, now), version, amends, lose_scores, ROLL_BACK)
    return version


def _switch(act: Act, version: ScoringVersion, amends: Amends, lose_scores: bool, action: str) -> None:
    session, competition, now = act.session, act.competition, act.now
    changed = _jobs_that_change_a_status(session, version)
    lost = sum(job.submission.status is SubmissionStatus.SCORED for job in changed)
    if lost and not lose_scores:
        raise RescoringLosesScores(lost)
    retired = lookup.live(competition)
    retired.state = ScoringVersionState.RETIRED
    version.state = ScoringVersionState.LIVE
    version.published_at, version.replaced_number = now, retired.number
    version.notice = _notice(act, amends)
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
    publication.write_again(session, competition=competition, actor=act.actor, now=now)
    _compensate(act, amends, version)
    if version.notice:
        mail.write(session, competition=competition, version=version, before=retired, now=now)
    reach("publish.before_commit")


def _count_unfinished(session: Session, version: ScoringVersion) -> int:
    query = (
        select(func.count())
        .select_from(ScoringJob)
        .join(ScoringJob.submission)
        .where(
            ScoringJob.scoring_version_id == version.id,
            ScoringJob.state.in_(leased_rows.OPEN_STATES),
            Submission.status != SubmissionStatus.PENDING,
        )
    )
    return session.scalar(query) or 0


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
