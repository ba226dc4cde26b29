"""Differences between the scores of two own files, with standard errors, computed on request.

Each value is derived from the displayed scores and a rounded standard error, so that it does not show more
decimals of a score.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from grader import db
from grader.errors import ErrorKind, ParticipantError, Refusal
from grader.models import Competition, JobState, OrganizerJob, OrganizerJobKind, Split, SubmissionStatus, User
from grader.ranking.order import Scale, error_text
from grader.services.competitions import lookup, phases
from grader.services.site import organizer_jobs
from grader.services.site.organizer_jobs import UnknownOrganizerJob
from grader.services.submissions import accepting
from grader.services.submissions.accepting import UnknownSubmission
from grader.visibility import Field, Viewer, visible_fields

MAX_DAILY = 20
DAY = timedelta(days=1)
FIELDS = {Split.PRIVATE: Field.PRIVATE_DIFFERENCES, Split.PUBLIC: Field.PUBLIC_DIFFERENCES}


class TooManyComparisons(ParticipantError):
    """The team has requested the maximum number of comparisons; `retry_after` is the time until the next."""

    public_name = "too_many_comparisons"
    kind = ErrorKind.LIMITED

    def __init__(self, wait: timedelta) -> None:
        self.retry_after = max(wait, timedelta(seconds=1))
        super().__init__(f"Your team has requested {MAX_DAILY} comparisons within a day. Try again later.")


@dataclass(frozen=True, slots=True)
class Difference:
    """The displayed difference on a split; it is clear if it exceeds `margin`, half of its 95 % interval."""

    split: Split
    value: str
    standard_error: str
    margin: str
    is_clear: bool


def request(
    session: Session,
    *,
    competition: Competition,
    user: User,
    viewer: Viewer,
    submission_id: int,
    baseline_id: int,
    now: datetime | None = None,
) -> OrganizerJob:
    """Return the job that compares two submissions of the user's team; add it if there is none.

    Raises UnknownSubmission, Refusal or TooManyComparisons.
    """
    competition = lookup.lock(session, competition_id=competition.id)
    now = now or db.now(session)
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
    found = find(session, competition=competition, submission_id=one.id, baseline_id=other.id)
    if found is not None:
        return found
    is_theirs = OrganizerJob.parameters["team_id"].as_integer() == one.team_id
    recent = _of(competition).with_only_columns(OrganizerJob.created_at).limit(MAX_DAILY)
    times = session.scalars(recent.where(is_theirs, OrganizerJob.created_at > now - DAY)).all()
    if len(times) == MAX_DAILY:
        raise TooManyComparisons(min(times) + DAY - now)
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


def find(
    session: Session, *, competition: Competition, submission_id: int, baseline_id: int
) -> OrganizerJob | None:
    """Return the newest job of a pair under the live scoring version, unless it failed."""
    asked = {
        "submission_id": submission_id,
        "baseline_id": baseline_id,
        "scoring_version_id": competition.live_scoring_version_id,
    }
    same = (OrganizerJob.parameters[name].as_integer() == value for name, value in asked.items())
    query = _of(competition).where(*same, OrganizerJob.state != JobState.FAILED)
    return session.scalars(query.limit(1)).first()


def get(session: Session, *, competition: Competition, user: User, job_id: int) -> OrganizerJob:
    """Return a job that compares submissions of the user's team; raise Refusal."""
    try:
        job = organizer_jobs.get(
            session, competition=competition, job_id=job_id, kind=OrganizerJobKind.COMPARE
        )
        for name in ("submission_id", "baseline_id"):
            accepting.get_own(session, user=user, submission_id=job.parameters[name])
    except (UnknownOrganizerJob, UnknownSubmission):
        message = f"There is no comparison {job_id}."
        raise Refusal("unknown_comparison", ErrorKind.NOT_FOUND, message) from None
    if job.parameters["scoring_version_id"] != competition.live_scoring_version_id:
        message = f"There is no comparison {job_id}."
        raise Refusal("unknown_comparison", ErrorKind.NOT_FOUND, message)
    return job


def shown_splits(competition: Competition, viewer: Viewer, now: datetime) -> list[Split]:
    """Return the splits on which the viewer may see differences, the private one first."""
    allowed = visible_fields(viewer, phases.phase(competition, now), competition.feedback)
    return [split for split, field in FIELDS.items() if field in allowed]


def shown(job: OrganizerJob, splits: Collection[Split], scale: Scale) -> list[Difference]:
    """Return the known differences on these splits."""
    return [
        _difference(split, **found, scale=scale) for split in splits if (found := job.result.get(split.value))
    ]


def _difference(split: Split, units: int, standard_error: float, margin: float, scale: Scale) -> Difference:
    error, half = (_rounded(each, scale) for each in (standard_error, margin))
    return Difference(split, scale.signed_text(units), error[0], half[0], abs(units) > half[1])


def _rounded(error: float, scale: Scale) -> tuple[str, int]:
    """Return an error as text and in units, at least 1; a smaller one would reveal labels of single rows."""
    units = max(abs(scale.units(float(error_text(error)))), 1)
    # A text of `error_text` has two digits at most, which below ten units would be too many decimals.
    return (error_text(error) if units >= 10 else scale.size_text(units)), units


def _of(competition: Competition) -> Select[OrganizerJob]:
    is_comparison = OrganizerJob.kind == OrganizerJobKind.COMPARE
    query = select(OrganizerJob).where(OrganizerJob.competition_id == competition.id, is_comparison)
    return query.order_by(OrganizerJob.id.desc())
