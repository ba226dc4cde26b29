"""Comparison of two submissions: choices, visible results, standard error of the difference.

Each submission has the same results as on its own page, and each benchmark the same as on the leaderboard.
The standard error is computed on request, for two submissions of one team. All shown values are derived from
displayed scores and a rounded standard error, so that they do not show more decimals of a score.
"""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session, joinedload

from grader.errors import ErrorKind, Refusal
from grader.models import (
    Competition,
    JobState,
    OrganizerJob,
    OrganizerJobKind,
    Split,
    Submission,
    SubmissionKind,
    SubmissionStatus,
    Team,
    User,
)
from grader.ranking.order import Scale, error_text
from grader.services.competitions import lookup, phases
from grader.services.competitions.acting import Act
from grader.services.leaderboards import submission_results
from grader.services.leaderboards.ranks import Standings
from grader.services.leaderboards.submission_results import SplitResult
from grader.services.site import organizer_jobs
from grader.services.site.organizer_jobs import UnknownOrganizerJob
from grader.services.submissions import accepting
from grader.services.submissions.accepting import UnknownSubmission
from grader.visibility import Field, Phase, Viewer, visible, visible_fields

MOST_CHOICES = 200
MAX_DAILY = 20
DAY = timedelta(days=1)
DIFFERENCES = {Split.PRIVATE: Field.PRIVATE_DIFFERENCES, Split.PUBLIC: Field.PUBLIC_DIFFERENCES}


class Contender(NamedTuple):
    """A submission to compare, with its visible results."""

    submission: Submission
    is_own: bool
    results: Mapping[Split, SplitResult]


class Difference(NamedTuple):
    """The displayed difference on a split; it is clear if it exceeds `margin`, half of its 95 % interval."""

    split: Split
    value: str
    standard_error: str
    margin: str
    is_clear: bool


def choices(
    session: Session, *, competition: Competition, team: Team | None, viewer: Viewer, phase: Phase
) -> tuple[list[Submission], list[Submission]]:
    """Return the newest scored submissions of the team, and the benchmarks if their scores are visible."""
    is_benchmark = Submission.kind == SubmissionKind.BENCHMARK
    is_own = Submission.team_id == (None if team is None else team.id)
    is_wanted = is_own
    if visible(Field.PUBLIC_SCORE, viewer, phase, competition.feedback):
        is_wanted = or_(is_own, is_benchmark)
    rows = session.scalars(
        select(Submission)
        .where(
            Submission.competition_id == competition.id,
            is_wanted,
            Submission.status == SubmissionStatus.SCORED,
        )
        .order_by(is_benchmark, Submission.id.desc())
        .limit(MOST_CHOICES)
    ).all()
    own = [row for row in rows if team is not None and row.team_id == team.id]
    return own, [row for row in rows if row not in own]


def find(
    session: Session,
    *,
    competition: Competition,
    user: User,
    submission_id: int,
    viewer: Viewer,
    phase: Phase,
) -> Contender:
    """Return a submission with its visible results; raise UnknownSubmission.

    These are own submissions, benchmarks whose score is visible and, after the reveal, all that compete.
    `viewer` is the person's role in the competition; an organizer sees the same details of every file.
    """
    unknown = UnknownSubmission(submission_id=submission_id)
    submission = session.get(Submission, submission_id, options=[joinedload(Submission.team)])
    if submission is None or submission.competition_id != competition.id:
        raise unknown
    is_own = accepting.is_own(session, submission=submission, user=user)
    is_organizer = viewer is Viewer.ORGANIZER
    version = lookup.live(competition)
    if not (is_own or is_organizer or submission.kind is SubmissionKind.BENCHMARK):
        entry = Standings(session, version.id, Split.PRIVATE).entry_of(submission.team_id)
        if phase is not Phase.REVEALED or entry is None or entry.submission_id != submission.id:
            raise unknown
    role = Viewer.TEAM if is_own and not is_organizer else viewer
    results = submission_results.split_results_of(
        session,
        submission_ids=[submission.id],
        version=version,
        allowed=visible_fields(role, phase, competition.feedback),
    )[submission.id]
    if not (is_own or is_organizer or results):
        raise unknown
    return Contender(submission, is_own, results)


def request(act: Act, *, viewer: Viewer, submission_id: int, baseline_id: int) -> OrganizerJob:
    """Return the job that compares two submissions of the user's team; add it if there is none.

    Raises UnknownSubmission or Refusal.
    """
    session, competition = act.session, act.competition
    one, other = (
        accepting.get_own(session, user=act.user, submission_id=each) for each in (submission_id, baseline_id)
    )
    if one.competition_id != competition.id:
        raise UnknownSubmission(submission_id=one.id)
    are_scored = one.status is other.status is SubmissionStatus.SCORED
    if one.id == other.id or one.team_id != other.team_id or not are_scored:
        message = "Choose two different scored submissions of your team."
        raise Refusal("not_comparable", ErrorKind.CONFLICT, message)
    if not shown_splits(competition, viewer, act.now):
        message = "This competition shows the standard errors of differences after the reveal."
        raise Refusal("differences_hidden", ErrorKind.FORBIDDEN, message)
    job = find_job(session, competition=competition, submission_id=one.id, baseline_id=other.id)
    if job is not None:
        return job
    recent = select(func.count(), func.min(OrganizerJob.created_at)).where(
        OrganizerJob.competition_id == competition.id,
        OrganizerJob.kind == OrganizerJobKind.COMPARE,
        OrganizerJob.parameters["team_id"].as_integer() == one.team_id,
        OrganizerJob.created_at > act.now - DAY,
    )
    count, oldest = session.execute(recent).one()
    if count >= MAX_DAILY:
        message = f"Your team has requested {MAX_DAILY} comparisons within a day. Try again later."
        wait = oldest + DAY - act.now
        raise Refusal("too_many_comparisons", ErrorKind.LIMITED, message, retry_after=wait)
    return organizer_jobs.add(
        session,
        competition=competition,
        kind=OrganizerJobKind.COMPARE,
        parameters={"team_id": one.team_id, **_pair(competition, one.id, other.id)},
        created_by=act.user,
        now=act.now,
    )


def find_job(
    session: Session, *, competition: Competition, submission_id: int, baseline_id: int
) -> OrganizerJob | None:
    """Return the newest job of a pair under the live scoring version, unless it failed."""
    pair = _pair(competition, submission_id, baseline_id)
    same = (OrganizerJob.parameters[name].as_integer() == value for name, value in pair.items())
    query = select(OrganizerJob).where(
        OrganizerJob.competition_id == competition.id,
        OrganizerJob.kind == OrganizerJobKind.COMPARE,
        OrganizerJob.state != JobState.FAILED,
        *same,
    )
    return session.scalars(query.order_by(OrganizerJob.id.desc()).limit(1)).first()


def get_job(session: Session, *, competition: Competition, user: User, job_id: int) -> OrganizerJob:
    """Return a job that compares two submissions of the user's team; raise Refusal."""
    unknown = Refusal("unknown_comparison", ErrorKind.NOT_FOUND, f"There is no comparison {job_id}.")
    try:
        job = organizer_jobs.get(
            session, competition=competition, job_id=job_id, kind=OrganizerJobKind.COMPARE
        )
        accepting.get_own(session, user=user, submission_id=job.parameters["submission_id"])
    except (UnknownOrganizerJob, UnknownSubmission):
        raise unknown from None
    if job.parameters["scoring_version_id"] != competition.live_scoring_version_id:
        raise unknown
    return job


def shown_splits(competition: Competition, viewer: Viewer, now: datetime) -> list[Split]:
    """Return the splits on which the viewer may see differences, the private one first."""
    allowed = visible_fields(viewer, phases.phase(competition, now), competition.feedback)
    return [split for split, field in DIFFERENCES.items() if field in allowed]


def differences(job: OrganizerJob, splits: Collection[Split], scale: Scale) -> list[Difference]:
    """Return the known differences on these splits."""
    return [
        _difference(split, **parts, scale=scale) for split in splits if (parts := job.result.get(split.value))
    ]


def _pair(competition: Competition, submission_id: int, baseline_id: int) -> dict[str, int | None]:
    """Return the parameters that identify the job of a pair."""
    return {
        "submission_id": submission_id,
        "baseline_id": baseline_id,
        "scoring_version_id": competition.live_scoring_version_id,
    }


def _difference(split: Split, units: int, standard_error: float, margin: float, scale: Scale) -> Difference:
    error, half = (_rounded(each, scale) for each in (standard_error, margin))
    return Difference(split, scale.signed_text(units), error[0], half[0], abs(units) > half[1])


def _rounded(error: float, scale: Scale) -> tuple[str, int]:
    """Return an error as text and in units, at least 1; a smaller one would reveal labels of single rows."""
    units = max(abs(scale.units(float(error_text(error)))), 1)
    # A text of `error_text` has two digits at most, which below ten units would be too many decimals.
    return (error_text(error) if units >= 10 else scale.size_text(units)), units
