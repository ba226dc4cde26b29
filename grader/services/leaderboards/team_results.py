"""Team profiles, and a team's results after the reveal."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.models import Competition, Split, Standing, Submission, Team, TeamMember, User, on_board
from grader.ranking import order, selection
from grader.ranking.order import Scale, TeamEntry
from grader.ranking.selection import Competitor, Scored, SubmissionKind
from grader.services.competitions import lookup, metric, phases, team_names
from grader.services.leaderboards import lines, score_history
from grader.services.leaderboards.leaderboard import BoardNotRevealed
from grader.services.leaderboards.lines import ShownRow
from grader.services.leaderboards.score_history import UnrankedTeam
from grader.services.standings import shown_scores
from grader.services.standings.ranks import Standings
from grader.visibility import Field, Phase, Viewer, visible

_SHOWN = (SubmissionKind.NORMAL, SubmissionKind.LATE)


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
    public_score: str
    private_score: str
    is_late: bool
    is_picked: bool | None
    counted: bool


@dataclass(frozen=True, slots=True)
class Missed:
    """The best submission that did not compete, and the rank that it would have had."""

    submission_id: int
    score: str
    rank: int
    is_better: bool


@dataclass(frozen=True, slots=True)
class TeamResults:
    """A team's submissions after the reveal, newest first, and its ranks; None if unranked."""

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
    """Return the results of a team's submissions; raise BoardNotRevealed before the reveal."""
    if phase is not Phase.REVEALED or not visible(Field.PRIVATE_SCORE, viewer, phase, competition.feedback):
        raise BoardNotRevealed
    version_id = lookup.live(competition).id
    own = shown_scores.scored(session, scoring_version_id=version_id, team_ids=[team.id], kinds=_SHOWN)
    choices = selection.choose(own, selection_count=competition.selection_count)
    standings = Standings(session, version_id, Split.PRIVATE)
    private, rank = standings.ranked_entry_of(team.id) or (None, None)
    _, public_rank = Standings(session, version_id, Split.PUBLIC).ranked_entry_of(team.id) or (None, None)
    return TeamResults(
        team=team.name,
        lines=_lines(session, competition.scale, own, choices, private),
        rank=rank,
        public_rank=public_rank,
        team_count=standings.count_teams(),
        selection_count=competition.selection_count,
        missed=_missed(standings, competition.scale, own, choices, private),
        disqualification=team.disqualification_reason if team.disqualified_at else None,
    )


def _lines(
    session: Session,
    scale: Scale,
    own: list[Scored],
    choices: tuple[Competitor, ...],
    counted: TeamEntry | None,
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
            public_score=scale.text(each.public_units),
            private_score=scale.text(each.private_units),
            is_late=each.kind is SubmissionKind.LATE,
            is_picked=picked.get(each.submission_id),
            counted=counted is not None and counted.submission_id == each.submission_id,
        )
        for each in newest_first
    )


def _missed(
    standings: Standings,
    scale: Scale,
    own: list[Scored],
    choices: tuple[Competitor, ...],
    counted: TeamEntry | None,
) -> Missed | None:
    entry = selection.best_unselected(own, choices)
    if entry is None or counted is None:
        return None
    return Missed(
        submission_id=entry.submission_id,
        score=scale.text(entry.score_units),
        rank=standings.rank_of(entry),
        is_better=order.order(entry) < order.order(counted),
    )


@dataclass(frozen=True, slots=True)
class ResultsMember:
    """A team member; `page_key` is None if there is no public profile."""

    name: str
    page_key: str | None
    joined_at: datetime


@dataclass(frozen=True, slots=True)
class Profile:
    """A team on a leaderboard; `private` is None before the reveal, and `steps` are its improvements.

    Teams with hidden names have no `members`. `alias` is the name that other teams see, if it differs.
    """

    team_id: int
    name: str
    alias: str
    since: datetime
    members: tuple[ResultsMember, ...]
    public: ShownRow | None
    private: ShownRow | None
    team_count: int
    steps: tuple[TeamEntry, ...]


def get_profile(
    session: Session,
    *,
    competition: Competition,
    team_id: int,
    viewer: Viewer,
    now: datetime,
    own_team_id: int | None = None,
) -> Profile:
    """Return the profile of a team; raise UnrankedTeam if no leaderboard shows it.

    Before the reveal, organizers see the same scores as participants.
    """
    is_revealed = _shows_private(competition, now)
    public = _line(session, competition, Split.PUBLIC, team_id, viewer, now)
    private = _line(session, competition, Split.PRIVATE, team_id, viewer, now) if is_revealed else None
    team = session.get(Team, team_id)
    if team is None or (public or private) is None:
        raise UnrankedTeam(team_id=team_id)
    version_id = lookup.live(competition).id
    (history,) = score_history.of_teams(session, competition=competition, team_ids=[team_id])
    seen_as = Viewer.TEAM if team_id == own_team_id else viewer
    are_hidden = team_names.are_hidden(competition, seen_as)
    return Profile(
        team_id=team.id,
        name=team_names.shown(team, competition, seen_as),
        alias="" if are_hidden else team_names.alias(team, competition),
        since=team.created_at,
        members=() if are_hidden else _members(session, team_id),
        public=public,
        private=private,
        team_count=Standings(session, version_id, Split.PRIVATE if private else Split.PUBLIC).count_teams(),
        steps=history.steps if public else (),
    )


def listed_profiles(
    session: Session, *, competition: Competition, team_ids: Collection[int], now: datetime
) -> frozenset[int]:
    """Return which of these teams are on a public leaderboard."""
    version_id = competition.live_scoring_version_id
    if version_id is None:
        return frozenset()
    splits = [Split.PUBLIC, *([Split.PRIVATE] if _shows_private(competition, now) else [])]
    there = select(Standing.team_id).where(*on_board(version_id, *splits), Standing.team_id.in_(team_ids))
    return frozenset(session.scalars(there))


def _shows_private(competition: Competition, now: datetime) -> bool:
    phase = phases.phase(competition, now)
    return visible(Field.PRIVATE_RANK, Viewer.PUBLIC, phase, competition.feedback)


def _line(
    session: Session, competition: Competition, split: Split, team_id: int, viewer: Viewer, now: datetime
) -> ShownRow | None:
    version = competition.live_scoring_version
    if version is None:
        return None
    standings = Standings(session, version.id, split)
    ranked = standings.ranked_entry_of(team_id)
    if ranked is None:
        return None
    field = Field.PUBLIC_TERMS if split is Split.PUBLIC else Field.PRIVATE_TERMS
    has_terms = visible(field, viewer, phases.phase(competition, now), competition.feedback)
    loaded = lines.load(
        standings,
        version=version,
        ranks={team_id: ranked[1]},
        terms=metric.term_names(version) if has_terms else (),
        scale=shown_scores.scale(competition, split),
    )
    return loaded[team_id]


def _members(session: Session, team_id: int) -> tuple[ResultsMember, ...]:
    query = (
        select(User.name, User.page_key, TeamMember.joined_at)
        .join(TeamMember, TeamMember.user_id == User.id)
        .where(TeamMember.team_id == team_id)
        .order_by(TeamMember.joined_at, TeamMember.id)
    )
    return tuple(ResultsMember(*row) for row in session.execute(query))
