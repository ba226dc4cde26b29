"""Differences between two scoring versions: scores, ranks, CSV file, summary.

The comparison itself is a pure function in `ranking.comparison`. It includes late, benchmark and hidden
submissions as well as those of disqualified teams.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple, TypeVar

from sqlalchemy import and_, func, or_, select
from sqlalchemy.orm import Session, aliased

from grader.models import (
    MAIN_BOARD,
    Competition,
    JobState,
    Score,
    ScoringJob,
    ScoringVersion,
    ScoringVersionState,
    Split,
    Submission,
    SubmissionKind,
    SubmissionStatus,
    Team,
)
from grader.ranking import comparison
from grader.ranking.comparison import BoardChange, ScorePair, VersionDifference
from grader.ranking.order import Scale
from grader.ranking.selection import Scored
from grader.services.competitions import boards, lookup, metric
from grader.services.leaderboards import shown_scores
from grader.services.rescoring import preparation
from grader.services.site import leased_rows
from grader.text import counted, csv_lines

CHUNK = 2_000
MOST_GROUPS = 50

Key = TypeVar("Key")
Means = Mapping[Split, Mapping[Key, tuple[float, float]]]
Value = tuple[str, str | tuple[str, ...]]  # a column of scores and the path in its JSON


class Compared(NamedTuple):
    """Two scoring versions: `after` replaces or would replace `before`."""

    before: ScoringVersion
    after: ScoringVersion

    @property
    def scales(self) -> tuple[Scale, Scale]:
        """The score scales of both versions, with units of the same size."""
        scales = [version.scale for version in self]
        decimals = max(each.decimals for each in scales)
        before, after = (replace(each, decimals=decimals, shown_decimals=each.decimals) for each in scales)
        return before, after

    @property
    def scale(self) -> Scale:
        """The scale of the changes from one version to the other."""
        return replace(self.scales[1], shown_decimals=None)


class Gaps(NamedTuple):
    """The number of missing results and lost scores under a scoring version."""

    unfinished: int
    lost: int


@dataclass(frozen=True, slots=True)
class Preview:
    """The complete differences between two versions, with team names.

    `term_means` and `group_means` contain the mean of each term, and of the score in each of the first
    groups, before and after, over the submissions scored under both versions. `named` contains the names
    of the named leaderboards by key.
    """

    versions: Compared
    difference: VersionDifference
    teams: Mapping[int, str]
    term_means: Means[str]
    gaps: Gaps
    group_means: Means[tuple[str, str]] = field(default_factory=dict)
    named: Mapping[str, str] = field(default_factory=dict)


def versions_of(session: Session, *, competition: Competition, version: ScoringVersion) -> Compared | None:
    """Pair a version with the live one or, if it is live, with its predecessor; None for a first version."""
    live = lookup.live(competition)
    if version.state is not ScoringVersionState.LIVE:
        return Compared(live, version)
    if live.replaced_number is None:
        return None
    return Compared(preparation.get(session, competition=competition, number=live.replaced_number), version)


def preview(session: Session, *, competition: Competition, versions: Compared) -> Preview:
    """Compute all differences between two versions on the complete leaderboards."""
    terms: dict[str, Value] = {term: ("terms", term) for term in metric.term_names(versions.after)}
    lines = [line for line in versions.after.solution.report.get("groups", ()) if line["is_defined"]]
    places = [(line["column"], line["value"]) for line in lines[:MOST_GROUPS]]
    groups: dict[tuple[str, str], Value] = {place: ("groups", (*place, "score")) for place in places}
    return Preview(
        versions=versions,
        difference=comparison.compare(
            _pairs(session, versions),
            disqualified=shown_scores.disqualified(session, competition_id=competition.id),
            selection_count=competition.selection_count,
        ),
        teams=_team_names(session, competition),
        term_means=_means(session, competition, versions, terms),
        gaps=gaps(session, competition=competition, version=versions.after),
        group_means=_means(session, competition, versions, groups),
        named={rule.key: rule.name for rule in boards.of(competition, versions.after)},
    )


def _team_names(session: Session, competition: Competition) -> dict[int, str]:
    query = select(Team.id, Team.name).where(Team.competition_id == competition.id)
    return dict(session.execute(query).all())


def _means(
    session: Session, competition: Competition, versions: Compared, values: Mapping[Key, Value]
) -> dict[Split, dict[Key, tuple[float, float]]]:
    """Return the mean of each value before and after, unless one of the versions does not have it."""
    if not values:
        return {}
    before, after = aliased(Score), aliased(Score)
    means_of = (
        func.avg(getattr(side, name)[path].as_float())
        for name, path in values.values()
        for side in (before, after)
    )
    rows = session.execute(
        select(after.split, *means_of)
        .join(
            before,
            (before.submission_id == after.submission_id)
            & (before.split == after.split)
            & (before.scoring_version_id == versions.before.id),
        )
        .join(Submission, Submission.id == after.submission_id)
        .where(Submission.competition_id == competition.id, after.scoring_version_id == versions.after.id)
        .group_by(after.split)
    )
    return {
        split: {
            key: (old, new)
            for key, old, new in zip(values, means[::2], means[1::2], strict=True)
            if old is not None and new is not None
        }
        for split, *means in rows
    }


def state(session: Session, *, versions: Compared, act_number: int) -> tuple[object, ...]:
    """Return a value that changes with the result of `preview`.

    Every act raises the competition's `act_number`, and scores change only when a job ends.
    """
    ids = [version.id for version in versions]
    jobs = (
        select(ScoringJob.scoring_version_id, ScoringJob.state, func.count())
        .where(ScoringJob.scoring_version_id.in_(ids))
        .group_by(ScoringJob.scoring_version_id, ScoringJob.state)
        .order_by(ScoringJob.scoring_version_id, ScoringJob.state)
    )
    return act_number, *ids, *map(tuple, session.execute(jobs))


def gaps(session: Session, *, competition: Competition, version: ScoringVersion) -> Gaps:
    """Return the number of submissions without a result, and of submissions that would lose scores."""
    job = and_(ScoringJob.submission_id == Submission.id, ScoringJob.scoring_version_id == version.id)
    unfinished, lost = session.execute(
        select(
            func.count().filter(or_(ScoringJob.id.is_(None), ScoringJob.state.in_(leased_rows.OPEN_STATES))),
            func.count().filter(
                Submission.status == SubmissionStatus.SCORED,
                ScoringJob.state.in_((JobState.REJECTED, JobState.FAILED)),
            ),
        )
        .select_from(Submission)
        .outerjoin(ScoringJob, job)
        .where(Submission.competition_id == competition.id, Submission.status.in_(preparation.RESCORED))
    ).one()
    return Gaps(unfinished, lost)


def _pairs(session: Session, versions: Compared) -> list[ScorePair]:
    """Return each submission that is scored under one of the versions, ordered by id."""
    scales = versions.scales
    before, after = (
        {
            each.submission_id: _enlarged(each, 10 ** (scales[0].decimals - version.scale.decimals))
            for each in shown_scores.scored(
                session, scoring_version_id=version.id, kinds=tuple(SubmissionKind)
            )
        }
        for version in versions
    )
    sign = 1 if scales[0].is_lowest_best == scales[1].is_lowest_best else -1
    return [ScorePair(before.get(each), after.get(each), sign) for each in sorted(before.keys() | after)]


def _enlarged(scored: Scored, factor: int) -> Scored:
    """Return a submission with its scores in units that are smaller by a factor."""
    if factor == 1:
        return scored
    return replace(
        scored,
        public_units=scored.public_units * factor,
        private_units=scored.private_units * factor,
        shown_units=None if scored.shown_units is None else scored.shown_units * factor,
    )


def submissions_csv(session: Session, *, competition: Competition, versions: Compared) -> Iterator[str]:
    """Yield every submission's displayed scores under both versions as CSV."""
    numbers = tuple(f"v{version.number}" for version in versions)
    header = (
        *("submission", "team_id", "team", "kind", "is_selected", "submitted_at"),
        *(f"{split}_{number}" for split in Split for number in numbers),
        *(f"{split}_change" for split in Split),
    )
    yield csv_lines([header])
    teams, (old, new), scale = _team_names(session, competition), versions.scales, versions.scale
    pairs = _pairs(session, versions)
    for start in range(0, len(pairs), CHUNK):
        yield csv_lines(
            (
                pair.known.submission_id,
                pair.known.team_id,
                teams[pair.known.team_id],
                pair.known.kind.value,
                "true" if pair.known.is_selected else "false",
                pair.known.submitted_at.isoformat().replace("+00:00", "Z"),
                pair.before and old.text(pair.before.public_units),
                pair.after and new.text(pair.after.public_units),
                pair.before and old.text(pair.before.private_units),
                pair.after and new.text(pair.after.private_units),
                *(None if change is None else scale.signed_text(change) for change in pair.changes),
            )
            for pair in pairs[start : start + CHUNK]
        )


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of a publication, and a digest that changes with them.

    The digest covers both versions, the ranks of all teams that move, the leaders and the largest change.
    """

    sentences: tuple[str, ...]
    digest: str

    @classmethod
    def of(cls, preview: Preview) -> "Changes":
        """Summarize the differences between two versions."""
        difference = preview.difference
        boards = list(chain.from_iterable(difference.boards.values()))
        parts = [
            [version.id for version in preview.versions],
            [[(team.team_id, team.before, team.after) for team in board.moved] for board in boards],
            [board.leaders for board in boards],
            difference.selections,
            _largest(difference),
            preview.gaps.lost,
        ]
        return cls(tuple(_sentences(preview)), hashlib.sha256(repr(parts).encode()).hexdigest())


def _sentences(preview: Preview) -> Iterator[str]:
    difference = preview.difference
    if difference.is_nothing:
        yield "Nothing changes. Every submission keeps its displayed scores, and every team keeps its rank."
        return
    public, private = difference.boards[MAIN_BOARD]
    moves = "No team changes rank on either leaderboard"
    if public.moved or private.moved:
        moves = f"{_moving(public)} on the public leaderboard and {_moving(private)} on the private one"
    leaders = [
        f"the leader of the {split} leaderboard changes from {before} to {after}"
        for split, board in zip(Split, (public, private), strict=True)
        for before, after in [[preview.teams.get(each or 0, "no team") for each in board.leaders]]
        if before != after
    ]
    yield f"{moves}; {'; '.join(leaders) or 'the leader stays the same on both leaderboards'}."
    for key, (one, other) in difference.boards.items():
        if key != MAIN_BOARD:
            name = preview.named.get(key, key)
            yield f"{name}: {_moving(one)} on the public leaderboard and {_moving(other)} on the private one."
    yield _score_sentence(difference, preview.versions.scale)
    if difference.selections:
        competes = "competes" if len(difference.selections) == 1 else "compete"
        yield f"{counted(len(difference.selections), 'team')} {competes} with different submissions."


def _moving(board: BoardChange) -> str:
    moved = len(board.moved)
    return f"{moved:,} of {counted(len(board.teams), 'team')} {'changes' if moved == 1 else 'change'} rank"


def _score_sentence(difference: VersionDifference, scale: Scale) -> str:
    more, gained = difference.scored_after - difference.scored_before, ""
    if more:
        verb, side = "has" if abs(more) == 1 else "have", "after" if more > 0 else "before"
        gained = f" {counted(abs(more), 'submission')} {verb} a score only {side} the rescoring."
    if not difference.changed:
        return f"No displayed score changes.{gained}"
    verb = "gets" if difference.changed == 1 else "get"
    return (
        f"{difference.changed:,} of {counted(difference.scored_after, 'submission')} {verb} a different "
        f"displayed score; the largest change is {scale.size_text(_largest(difference))}.{gained}"
    )


def _largest(difference: VersionDifference) -> int:
    return max((abs(change or 0) for pair in difference.largest[:1] for change in pair.changes), default=0)
