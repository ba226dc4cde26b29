"""Comparison of two submissions: choices, visible results, standard error of the difference.

Each submission has the same results as on its own page, and each benchmark the same as on the leaderboard.
The standard error is computed on request, for two submissions of one team. All shown values are derived from
displayed scores and a rounded standard error, so that they do not show more decimals of a score.
"""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import ColumnElement, Select, or_, select
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
from grader.services.leaderboards import submission_results
from grader.services.leaderboards.submission_results import NotCounted, SplitResult
from grader.services.site import organizer_jobs
from grader.services.site.organizer_jobs import UnknownOrganizerJob
from grader.services.submissions import accepting
from grader.services.submissions.accepting import UnknownSubmission
from grader.visibility import Field, Phase, Viewer, visible_fields

MOST_CHOICES = 200
MAX_DAILY = 20
DAY = timedelta(days=1)
SCORES = frozenset({Field.PUBLIC_SCORE, Field.PUBLIC_EXACT, Field.PRIVATE_SCORE})
DIFFERENCES = {Split.PRIVATE: Field.PRIVATE_DIFFERENCES, Split.PUBLIC: Field.PUBLIC_DIFFERENCES}


class Contender(NamedTuple):
    """A submission to compare, with its visible results; `name` is its display name."""

    submission: Submission
    name: str
    is_own: bool
    results: Mapping[Split, SplitResult]

    @property
    def is_benchmark(self) -> bool:
        """Whether the submission is a benchmark."""
        return self.submission.kind is SubmissionKind.BENCHMARK

    @property
    def result(self) -> SplitResult | None:
        """The private result if it is visible, otherwise the public one."""
        return self.results.get(Split.PRIVATE) or self.results.get(Split.PUBLIC)


class Difference(NamedTuple):
    """The displayed difference on a split; it is clear if it exceeds `margin`, half of its 95 % interval."""

    split: Split
    value: str
    standard_error: str
    margin: str
    is_clear: bool


def choices(
    session: Session, *, competition: Competition, team: Team | None, viewer: Viewer, phase: Phase
) -> list[Contender]:
    """Return the newest scored submissions of the team, then the benchmarks, with their visible scores.

    `viewer` is the person's role in the competition; an organizer sees the same details of every file.
    """
    is_benchmark = Submission.kind == SubmissionKind.BENCHMARK
    is_wanted: ColumnElement[bool] = is_benchmark
    own_id = None if team is None else team.id
    if team is not None:
        is_wanted = or_(is_benchmark, Submission.team_id == team.id)
    rows = session.scalars(
        select(Submission)
        .where(
            Submission.competition_id == competition.id,
            is_wanted,
            Submission.status == SubmissionStatus.SCORED,
        )
        .options(joinedload(Submission.team))
        .order_by(is_benchmark, Submission.id.desc())
        .limit(MOST_CHOICES)
    ).all()
    own, others = ([row.id for row in rows if (row.team_id == own_id) is is_own] for is_own in (True, False))
    results = _results(session, competition, own, _of_own(viewer), phase, SCORES)
    results |= _results(session, competition, others, viewer, phase, SCORES)
    return [
        Contender(row, row.description or row.file_name, row.team_id == own_id, results[row.id])
        for row in rows
        if row.team_id == own_id or results[row.id]
    ]


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
    """
    found = session.get(Submission, submission_id, options=[joinedload(Submission.team)])
    if found is None or found.competition_id != competition.id:
        raise UnknownSubmission(submission_id=submission_id)
    is_own, name = (
        accepting.is_own(session, submission=found, user=user),
        found.description or found.file_name,
    )
    if is_own or viewer is Viewer.ORGANIZER:
        results = _results(session, competition, [found.id], _of_own(viewer), phase)[found.id]
        return Contender(found, name if is_own else found.team.name, is_own, results)
    if found.kind is SubmissionKind.BENCHMARK:
        results = _results(session, competition, [found.id], viewer, phase)[found.id]
        if results:
            return Contender(found, name, False, results)
    if phase is not Phase.REVEALED:
        raise UnknownSubmission(submission_id=submission_id)
    try:
        counted = submission_results.get_counted(
            session, competition=competition, submission_id=submission_id, viewer=viewer, phase=phase
        )
    except NotCounted:
        raise UnknownSubmission(submission_id=submission_id) from None
    return Contender(found, counted.team, False, dict(counted.results))


def request(
    session: Session,
    *,
    competition: Competition,
    user: User,
    viewer: Viewer,
    submission_id: int,
    baseline_id: int,
    now: datetime,
) -> OrganizerJob:
    """Return the job that compares two submissions of the user's team; add it if there is none.

    Raises UnknownSubmission or Refusal.
    """
    competition = lookup.lock(session, competition_id=competition.id)
    pair = [
        accepting.get_own(session, user=user, submission_id=each) for each in (submission_id, baseline_id)
    ]
    for each in pair:
        if each.competition_id != competition.id:
            raise UnknownSubmission(submission_id=each.id)
    one, other = pair
    are_scored = all(each.status is SubmissionStatus.SCORED for each in pair)
    if one.id == other.id or one.team_id != other.team_id or not are_scored:
        message = "Choose two different scored submissions of your team."
        raise Refusal("not_comparable", ErrorKind.CONFLICT, message)
    if not shown_splits(competition, viewer, now):
        message = "This competition shows the standard errors of differences after the reveal."
        raise Refusal("differences_hidden", ErrorKind.FORBIDDEN, message)
    found = find_job(session, competition=competition, submission_id=one.id, baseline_id=other.id)
    if found is not None:
        return found
    is_theirs = OrganizerJob.parameters["team_id"].as_integer() == one.team_id
    recent = _jobs(competition).with_only_columns(OrganizerJob.created_at).limit(MAX_DAILY)
    times = session.scalars(recent.where(is_theirs, OrganizerJob.created_at > now - DAY)).all()
    if len(times) == MAX_DAILY:
        message = f"Your team has requested {MAX_DAILY} comparisons within a day. Try again later."
        wait = max(min(times) + DAY - now, timedelta(seconds=1))
        raise Refusal("too_many_comparisons", ErrorKind.LIMITED, message, retry_after=wait)
    return organizer_jobs.add(
        session,
        competition=competition,
        kind=OrganizerJobKind.COMPARE,
        parameters={
            "team_id": one.team_id,
            "submission_id": one.id,
            "baseline_id": other.id,
            "scoring_version_id": lookup.live(competition).id,
        },
        created_by=user,
        now=now,
    )


def find_job(
    session: Session, *, competition: Competition, submission_id: int, baseline_id: int
) -> OrganizerJob | None:
    """Return the newest job of a pair under the live scoring version, unless it failed."""
    asked = {
        "submission_id": submission_id,
        "baseline_id": baseline_id,
        "scoring_version_id": competition.live_scoring_version_id,
    }
    same = (OrganizerJob.parameters[name].as_integer() == value for name, value in asked.items())
    query = _jobs(competition).where(*same, OrganizerJob.state != JobState.FAILED)
    return session.scalars(query.limit(1)).first()


def get_job(session: Session, *, competition: Competition, user: User, job_id: int) -> OrganizerJob:
    """Return a job that compares two submissions of the user's team; raise Refusal."""
    unknown = Refusal("unknown_comparison", ErrorKind.NOT_FOUND, f"There is no comparison {job_id}.")
    try:
        job = organizer_jobs.get(
            session, competition=competition, job_id=job_id, kind=OrganizerJobKind.COMPARE
        )
        for name in ("submission_id", "baseline_id"):
            accepting.get_own(session, user=user, submission_id=job.parameters[name])
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
        _difference(split, **found, scale=scale) for split in splits if (found := job.result.get(split.value))
    ]


def _of_own(viewer: Viewer) -> Viewer:
    return Viewer.ORGANIZER if viewer is Viewer.ORGANIZER else Viewer.TEAM


def _results(
    session: Session,
    competition: Competition,
    ids: list[int],
    viewer: Viewer,
    phase: Phase,
    wanted: Collection[Field] = tuple(Field),
) -> dict[int, dict[Split, SplitResult]]:
    allowed = visible_fields(viewer, phase, competition.feedback).intersection(wanted)
    return submission_results.split_results_of(
        session, submission_ids=ids, version=lookup.live(competition), allowed=allowed
    )


def _difference(split: Split, units: int, standard_error: float, margin: float, scale: Scale) -> Difference:
    error, half = (_rounded(each, scale) for each in (standard_error, margin))
    return Difference(split, scale.signed_text(units), error[0], half[0], abs(units) > half[1])


def _rounded(error: float, scale: Scale) -> tuple[str, int]:
    """Return an error as text and in units, at least 1; a smaller one would reveal labels of single rows."""
    units = max(abs(scale.units(float(error_text(error)))), 1)
    # A text of `error_text` has two digits at most, which below ten units would be too many decimals.
    return (error_text(error) if units >= 10 else scale.size_text(units)), units


def _jobs(competition: Competition) -> Select[OrganizerJob]:
    is_comparison = OrganizerJob.kind == OrganizerJobKind.COMPARE
    query = select(OrganizerJob).where(OrganizerJob.competition_id == competition.id, is_comparison)
    return query.order_by(OrganizerJob.id.desc())
