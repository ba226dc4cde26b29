"""Benchmark lines on a leaderboard: organizers' submissions, shown unranked where their score would be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session, defer

from grader.models import Competition, Score, ScoringVersion, Split, Submission, SubmissionKind, Team
from grader.ranking import order
from grader.ranking.order import Entry
from grader.services.leaderboards import lines
from grader.services.leaderboards.lines import BoardRow
from grader.services.standings import places as placing
from grader.services.standings import shown_scores
from grader.text import one_line
from grader.visibility import Feedback

NAME_MAX_LENGTH = 64
MAX_COUNT = 50


@dataclass(frozen=True, slots=True)
class Placed:
    """A benchmark's line, and how many teams rank above it."""

    row: BoardRow
    place: int


def rows(
    session: Session,
    *,
    competition: Competition,
    version: ScoringVersion,
    split: Split,
    terms: Sequence[str],
) -> Sequence[Placed]:
    """Return the benchmarks of a leaderboard, best first, with the terms that the viewer may see.

    One is called by its description, else by its team. A coarse mode of feedback rounds their public scores.
    """
    if split is Split.PUBLIC and competition.feedback is Feedback.BLIND:
        return []
    found = session.execute(
        select(Submission, Team.name, Score)
        .join(Team, Team.id == Submission.team_id)
        .join(Score, Score.submission_id == Submission.id)
        .where(
            Submission.competition_id == competition.id,
            Submission.kind == SubmissionKind.BENCHMARK,
            Score.scoring_version_id == version.id,
            Score.split == split,
        )
        .limit(MAX_COUNT)
        .options(defer(Score.counts))
    ).all()
    entries = [
        Entry(each.team_id, each.id, _units(competition, split, score.score), each.submitted_at)
        for each, _, score in found
    ]
    places = placing.places_of(session, scoring_version_id=version.id, split=split, entries=entries)
    decimals = shown_scores.decimals(competition, split)
    placed = zip(entries, found, places, strict=True)
    return [
        Placed(_row(entry, submission, name, lines.rounded_terms(score, terms), decimals), place - 1)
        for entry, (submission, name, score), place in sorted(placed, key=lambda each: order.order(each[0]))
    ]


def _units(competition: Competition, split: Split, score: float) -> int:
    shown = shown_scores.benchmark_units(competition, score) if split is Split.PUBLIC else None
    return order.score_units(score) if shown is None else shown


def _row(
    entry: Entry, submission: Submission, team: str, terms: Mapping[str, float], decimals: int
) -> BoardRow:
    return BoardRow(
        rank=None,
        team_id=entry.team_id,
        team=one_line(submission.description, NAME_MAX_LENGTH) or team,
        members=(),
        submission_id=entry.submission_id,
        score=order.score_text(entry.score_units, decimals),
        score_units=entry.score_units,
        terms=terms,
        entry_count=1,
        last_submitted_at=entry.submitted_at,
    )
