"""A team's results after the reveal: private score of each file, which one counted, and why."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.models import Competition, Split, Submission, Team
from grader.ranking import order, selection
from grader.ranking.order import Entry
from grader.ranking.selection import Choice, Scored, SubmissionKind
from grader.services.competitions import lookup
from grader.services.leaderboards.leaderboard import NotRevealed
from grader.services.standings import places, scored_submissions
from grader.visibility import Field, Phase, Viewer, visible

_SHOWN = (SubmissionKind.NORMAL, SubmissionKind.LATE)


@dataclass(frozen=True, slots=True)
class ResultLine:
    """A scored submission with both displayed scores.

    `is_picked` tells for one that competed whether its team picked it (or it was filled in); it is None for
    one that did not compete. `counted` marks the one that stands on the private leaderboard.
    """

    submission_id: int
    file_name: str
    description: str
    submitted_at: datetime
    public_score: str
    private_score: str
    is_late: bool
    is_picked: bool | None
    counted: bool


@dataclass(frozen=True, slots=True)
class Missed:
    """The best file that did not compete, and the rank that it would have taken."""

    submission_id: int
    score: str
    rank: int
    is_better: bool


@dataclass(frozen=True, slots=True)
class TeamResults:
    """A team's submissions after the reveal, the newest first, and its places; None where it has none."""

    team: str
    lines: tuple[ResultLine, ...]
    rank: int | None
    public_rank: int | None
    team_count: int
    selection_count: int
    missed: Missed | None
    disqualification: str | None


def of_team(
    session: Session, *, competition: Competition, team: Team, phase: Phase, viewer: Viewer = Viewer.TEAM
) -> TeamResults:
    """Return what a team's submissions got; raise NotRevealed before the reveal."""
    if phase is not Phase.REVEALED or not visible(Field.PRIVATE_SCORE, viewer, phase, competition.feedback):
        raise NotRevealed
    version_id = lookup.live(competition).id
    own = scored_submissions.scored(session, scoring_version_id=version_id, team_ids=[team.id], kinds=_SHOWN)
    choices = selection.choose(own, selection_count=competition.selection_count)
    private, rank = _place(session, version_id, Split.PRIVATE, team)
    _, public_rank = _place(session, version_id, Split.PUBLIC, team)
    return TeamResults(
        team=team.name,
        lines=_lines(session, own, choices, private),
        rank=rank,
        public_rank=public_rank,
        team_count=places.count_teams(session, scoring_version_id=version_id, split=Split.PRIVATE),
        selection_count=competition.selection_count,
        missed=_missed(session, version_id, own, choices, private),
        disqualification=team.disqualification_reason if team.disqualified_at else None,
    )


def _place(session: Session, version_id: int, split: Split, team: Team) -> tuple[Entry | None, int | None]:
    entry = places.standing_of(session, scoring_version_id=version_id, split=split, team_id=team.id)
    if entry is None:
        return None, None
    return entry, places.rank_of(session, scoring_version_id=version_id, split=split, entry=entry)


def _lines(
    session: Session, own: list[Scored], choices: tuple[Choice, ...], counted: Entry | None
) -> tuple[ResultLine, ...]:
    rows = session.scalars(select(Submission).where(Submission.id.in_([each.submission_id for each in own])))
    submissions = {row.id: row for row in rows}
    picked = {choice.submission_id: choice.is_picked for choice in choices}
    newest_first = sorted(own, key=lambda each: (each.submitted_at, each.submission_id), reverse=True)
    return tuple(
        ResultLine(
            submission_id=each.submission_id,
            file_name=submissions[each.submission_id].file_name,
            description=submissions[each.submission_id].description,
            submitted_at=each.submitted_at,
            public_score=order.score_text(each.public_units),
            private_score=order.score_text(each.private_units),
            is_late=each.kind is SubmissionKind.LATE,
            is_picked=picked.get(each.submission_id),
            counted=counted is not None and counted.submission_id == each.submission_id,
        )
        for each in newest_first
    )


def _missed(
    session: Session, version_id: int, own: list[Scored], choices: tuple[Choice, ...], counted: Entry | None
) -> Missed | None:
    entry = selection.best_unselected(own, choices)
    if entry is None or counted is None:
        return None
    return Missed(
        submission_id=entry.submission_id,
        score=order.score_text(entry.score_units),
        rank=places.rank_of(session, scoring_version_id=version_id, split=Split.PRIVATE, entry=entry),
        is_better=order.order(entry) < order.order(counted),
    )
