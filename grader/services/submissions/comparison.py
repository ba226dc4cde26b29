"""Submissions available for comparison: own, benchmarks and, after the reveal, all competing ones.

Each submission has the same results as on its own page, and each benchmark the same as on the leaderboard.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from grader.models import Competition, Split, Submission, SubmissionStatus, Team, User
from grader.services.competitions import lookup
from grader.services.leaderboards import board, shown_scores, submission_results
from grader.services.leaderboards.board import ShownRow
from grader.services.leaderboards.ranks import Standings
from grader.services.leaderboards.submission_results import NotCounted, SplitResult
from grader.services.submissions import accepting, viewers
from grader.services.submissions.accepting import UnknownSubmission
from grader.visibility import Field, Phase, Viewer, visible_fields

OWN_COUNT = 200


@dataclass(frozen=True, slots=True)
class Contender:
    """A submission to compare; `name` is its display name, and `team` is empty for the viewer's own.

    `score_units` is the visible score: the private one after the reveal, or None if it is hidden. `score` is
    its text.
    """

    id: int
    name: str
    team: str
    is_benchmark: bool
    submitted_at: datetime
    score_units: int | None
    score: str = ""


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """One side of a comparison: the submission and its visible results."""

    choice: Contender
    is_own: bool
    results: Mapping[Split, SplitResult]


def choices(
    session: Session, *, competition: Competition, team: Team | None, viewer: Viewer, phase: Phase
) -> list[Contender]:
    """Return the comparable submissions: own ones, benchmarks and, after the reveal, those of top teams.

    `viewer` is the person's role in the competition; an organizer sees the same details of every file.
    """
    own = _own(session, competition, team, viewer, phase)
    ids = {each.id for each in own}
    others = _others(session, competition, team, viewer, phase)
    return own + [each for each in others if each.id not in ids]


def side(
    session: Session,
    *,
    competition: Competition,
    user: User,
    submission_id: int,
    known: Sequence[Contender],
    viewer: Viewer,
    phase: Phase,
) -> ComparedSide:
    """Return the visible results of a submission, which `known` need not contain; raise UnknownSubmission."""
    version = lookup.live(competition)
    choice = next((each for each in known if each.id == submission_id), None)
    if choice is not None and choice.is_benchmark:
        return ComparedSide(choice, False, _benchmark(session, competition, choice, viewer, phase))
    try:
        opened = viewers.open_submission(session, user=user, submission_id=submission_id)
    except UnknownSubmission:
        return _counted(session, competition, submission_id, viewer, phase)
    if opened.submission.competition_id != competition.id:
        raise UnknownSubmission(submission_id=submission_id)
    allowed = visible_fields(opened.viewer, phase, competition.feedback)
    results = submission_results.split_results(
        session, submission=opened.submission, version=version, allowed=allowed
    )
    team = "" if opened.is_own else opened.submission.team.name
    own = choice or _choice(opened.submission, results.get(_split(phase)), team)
    return ComparedSide(own, opened.is_own, results)


def own_counted(session: Session, *, competition: Competition, team: Team | None, phase: Phase) -> int | None:
    """Return the id of the team's private entry, as the default to compare with; None before the reveal."""
    version = competition.live_scoring_version
    if team is None or version is None or phase is not Phase.REVEALED:
        return None
    entry = Standings(session, version.id, Split.PRIVATE).entry_of(team.id)
    return entry.submission_id if entry else None


def _split(phase: Phase) -> Split:
    return Split.PRIVATE if phase is Phase.REVEALED else Split.PUBLIC


def _choice(submission: Submission, result: SplitResult | None, team: str = "") -> Contender:
    return Contender(
        id=submission.id,
        name=submission.description or submission.file_name,
        team=team,
        is_benchmark=False,
        submitted_at=submission.submitted_at,
        score_units=result.score_units if result else None,
        score=result.score if result else "",
    )


def _own(
    session: Session, competition: Competition, team: Team | None, viewer: Viewer, phase: Phase
) -> list[Contender]:
    page = accepting.list_of(session, team=team, page_size=OWN_COUNT)
    scored = [each for each in page.rows if each.status is SubmissionStatus.SCORED]
    eyes = Viewer.ORGANIZER if viewer is Viewer.ORGANIZER else Viewer.TEAM
    scores = {Field.PUBLIC_SCORE, Field.PUBLIC_EXACT, Field.PRIVATE_SCORE}
    results = submission_results.split_results_of(
        session,
        submission_ids=[each.id for each in scored],
        version=lookup.live(competition),
        allowed=visible_fields(eyes, phase, competition.feedback) & scores,
    )
    return [_choice(each, results[each.id].get(_split(phase))) for each in scored]


def _others(
    session: Session, competition: Competition, team: Team | None, viewer: Viewer, phase: Phase
) -> list[Contender]:
    rows: Sequence[ShownRow]
    if phase is Phase.REVEALED:
        found = board.board_of(
            session, split=Split.PRIVATE, competition=competition, phase=phase, viewer=viewer
        )
        rows = [row for row in found.rows if team is None or row.team_id != team.id or row.is_benchmark]
    else:
        version = lookup.live(competition)
        standings = Standings(session, version.id, Split.PUBLIC)
        placed = board.benchmark_rows(standings, competition=competition, version=version)
        rows = [each.row for each in placed]
    return [
        Contender(
            row.submission_id,
            row.team,
            row.team,
            row.is_benchmark,
            row.last_submitted_at,
            row.score_units,
            row.score,
        )
        for row in rows
    ]


def _benchmark(
    session: Session, competition: Competition, choice: Contender, viewer: Viewer, phase: Phase
) -> Mapping[Split, SplitResult]:
    """Return a benchmark's full results, or its displayed score if exact scores are hidden."""
    version = lookup.live(competition)
    allowed = visible_fields(viewer, phase, competition.feedback)
    if Field.PUBLIC_EXACT in allowed:
        results = submission_results.split_results_of(
            session, submission_ids=[choice.id], version=version, allowed=allowed
        )
        return results[choice.id]
    standings = Standings(session, version.id, Split.PUBLIC)
    placed = board.benchmark_rows(standings, competition=competition, version=version)
    scale = shown_scores.scale(competition)
    row = next((each.row for each in placed if each.row.submission_id == choice.id), None)
    return {} if row is None else {Split.PUBLIC: SplitResult(row.score, row.score_units, {}, (), (), scale)}


def _counted(
    session: Session, competition: Competition, submission_id: int, viewer: Viewer, phase: Phase
) -> ComparedSide:
    """Return the visible results of another team's private entry; raise UnknownSubmission."""
    if phase is not Phase.REVEALED:
        raise UnknownSubmission(submission_id=submission_id)
    try:
        counted = submission_results.get_counted(
            session, competition=competition, submission_id=submission_id, viewer=viewer, phase=phase
        )
    except NotCounted:
        raise UnknownSubmission(submission_id=submission_id) from None
    choice = Contender(
        id=submission_id,
        name=counted.team,
        team=counted.team,
        is_benchmark=False,
        submitted_at=counted.submitted_at,
        score_units=counted.results[Split.PRIVATE].score_units,
        score=counted.results[Split.PRIVATE].score,
    )
    return ComparedSide(choice, False, counted.results)
