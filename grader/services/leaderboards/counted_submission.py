"""The submission behind a private leaderboard line, with its scores on both splits."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from grader.errors import ErrorKind, ParticipantError
from grader.models import Competition, Split, Standing
from grader.services.competitions import lookup
from grader.services.leaderboards import leaderboard, submission_results
from grader.services.leaderboards.submission_results import SplitResult
from grader.services.standings import places
from grader.services.standings.rows import to_entry
from grader.visibility import Phase, Viewer, visible_fields


class NotCounted(ParticipantError):
    """The submission does not count for its team on the private leaderboard."""

    public_name = "not_counted"
    kind = ErrorKind.NOT_FOUND
    message = "No team has submission {submission_id} on the private leaderboard."


@dataclass(frozen=True, slots=True)
class Counted:
    """A submission that counted, whose it is, and what it got as far as the viewer may see it."""

    submission_id: int
    team_id: int
    team: str
    rank: int
    team_count: int
    submitted_at: datetime
    results: Mapping[Split, SplitResult]


def get(
    session: Session, *, competition: Competition, submission_id: int, viewer: Viewer, phase: Phase
) -> Counted:
    """Return a submission that counted; raise what `boards.require_private` raises, NotCounted for others."""
    leaderboard.require_private(competition, viewer=viewer, phase=phase)
    version = lookup.live(competition)
    standing = session.scalar(
        select(Standing)
        .where(
            Standing.scoring_version_id == version.id,
            Standing.split == Split.PRIVATE,
            Standing.submission_id == submission_id,
        )
        .options(joinedload(Standing.submission), joinedload(Standing.team))
    )
    if standing is None:
        raise NotCounted(submission_id=submission_id)
    return Counted(
        submission_id=submission_id,
        team_id=standing.team_id,
        team=standing.team.name,
        rank=places.rank_of(
            session, scoring_version_id=version.id, split=Split.PRIVATE, entry=to_entry(standing)
        ),
        team_count=places.count_teams(session, scoring_version_id=version.id, split=Split.PRIVATE),
        submitted_at=standing.submission.submitted_at,
        results=submission_results.split_results(
            session,
            submission=standing.submission,
            version=version,
            allowed=visible_fields(viewer, phase, competition.feedback),
        ),
    )
