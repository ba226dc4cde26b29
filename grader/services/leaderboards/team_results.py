"""A team's results, and awards, after the reveal."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.models import Competition, Split, Standing, Submission, Team, TeamMember
from grader.ranking import selection
from grader.ranking.selection import SubmissionKind
from grader.services.competitions import lookup, team_names
from grader.services.leaderboards import shown_scores
from grader.services.leaderboards.board import BoardNotRevealed, members_of
from grader.services.leaderboards.ranks import Standings
from grader.visibility import Field, Phase, Viewer, visible


@dataclass(frozen=True, slots=True)
class ResultLine:
    """A scored submission with both displayed scores.

    `is_picked` is None if the submission did not compete. `counted` marks the team's entry on the private
    leaderboard.
    """

    submission_id: int
    file_name: str
    description: str
    submitted_at: datetime
    public_score: float
    private_score: float
    is_late: bool
    is_picked: bool | None
    counted: bool


@dataclass(frozen=True, slots=True)
class TeamResults:
    """A team's submissions after the reveal, newest first, and its ranks; None if unranked."""

    team: str
    lines: tuple[ResultLine, ...]
    rank: int | None
    public_rank: int | None
    team_count: int
    selection_count: int
    disqualification: str | None


def of_team(session: Session, *, competition: Competition, team: Team, phase: Phase) -> TeamResults:
    """Return the results of a team's submissions; raise BoardNotRevealed before the reveal."""
    if phase is not Phase.REVEALED:
        raise BoardNotRevealed
    version_id, scale = lookup.live(competition).id, competition.scale
    own = shown_scores.scored(
        session, scoring_version_id=version_id, team_ids=[team.id], kinds=shown_scores.KINDS
    )
    competing = selection.choose(own, selection_count=competition.selection_count)
    standings = Standings(session, version_id, Split.PRIVATE)
    private, rank = standings.ranked_entry_of(team.id) or (None, None)
    _, public_rank = Standings(session, version_id, Split.PUBLIC).ranked_entry_of(team.id) or (None, None)
    ids = [each.submission_id for each in own]
    files = {row.id: row for row in session.scalars(select(Submission).where(Submission.id.in_(ids)))}
    newest_first = sorted(own, key=lambda each: (each.submitted_at, each.submission_id), reverse=True)
    return TeamResults(
        team=team.name,
        lines=tuple(
            ResultLine(
                submission_id=each.submission_id,
                file_name=files[each.submission_id].file_name,
                description=files[each.submission_id].description,
                submitted_at=each.submitted_at,
                public_score=scale.value(each.public_units),
                private_score=scale.value(each.private_units),
                is_late=each.kind is SubmissionKind.LATE,
                is_picked=each.is_selected if each.submission_id in competing else None,
                counted=private is not None and private.submission_id == each.submission_id,
            )
            for each in newest_first
        ),
        rank=rank,
        public_rank=public_rank,
        team_count=standings.count_teams(),
        selection_count=competition.selection_count,
        disqualification=team.disqualification,
    )


@dataclass(frozen=True, slots=True)
class Award:
    """A team's rank and score on the private leaderboard; `members` is empty if names are hidden."""

    team: str
    members: tuple[str, ...]
    rank: int
    team_count: int
    score: str


def awards(
    session: Session,
    *,
    competition: Competition,
    phase: Phase,
    viewer: Viewer = Viewer.PUBLIC,
    team_id: int | None = None,
) -> list[Award]:
    """Return the awards of one or all teams with a private rank, best first; raise BoardNotRevealed."""
    if not visible(Field.PRIVATE_RANK, Viewer.PUBLIC, phase, competition.feedback):
        raise BoardNotRevealed
    standings = Standings(session, lookup.live(competition).id, Split.PRIVATE)
    ranked = standings.ranked_teams().add_columns(Standing.score_units).subquery()
    query = select(Team, ranked.c.rank, ranked.c.score_units).join(ranked, ranked.c.team_id == Team.id)
    if team_id is not None:
        query = query.where(Team.id == team_id)
    are_hidden, team_count = team_names.are_hidden(competition, viewer), standings.count_teams()
    scale = shown_scores.scale(competition, Split.PRIVATE)
    return [
        Award(
            team=team_names.shown(team, competition, viewer),
            members=() if are_hidden else tuple(members_of(session, TeamMember.team_id == team.id)[team.id]),
            rank=rank,
            team_count=team_count,
            score=scale.text(units),
        )
        for team, rank, units in session.execute(query.order_by(ranked.c.rank))
    ]
