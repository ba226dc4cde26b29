"""Differences between two scoring versions: scores, ranks, CSV file, summary.

The leaderboards are computed and compared by pure functions in `ranking`. Changes of scores include late,
benchmark and hidden submissions as well as those of disqualified teams.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session, aliased

from grader.models import (
    Competition,
    Score,
    ScoringJob,
    ScoringVersion,
    ScoringVersionState,
    Split,
    Submission,
    SubmissionKind,
    Team,
)
from grader.ranking import comparison, selection
from grader.ranking.comparison import BoardChange, Scales, ScorePair
from grader.ranking.order import change_text
from grader.services.competitions import boards, lookup
from grader.services.competitions.metric import Rules
from grader.services.leaderboards import shown_scores
from grader.services.rescoring import preparation
from grader.services.rescoring.preparation import Progress
from grader.text import counted, csv_lines, iso

CHUNK = 2_000
MOST_GROUPS = 50

Means = Mapping[Split, Mapping[str, tuple[float, float]]]
Value = tuple[str, str | tuple[str, ...]]  # a column of scores and the path in its JSON


class Compared(NamedTuple):
    """Two scoring versions: `after` replaces or would replace `before`."""

    before: ScoringVersion
    after: ScoringVersion

    @property
    def scales(self) -> Scales:
        """The scales of their scores."""
        return self.before.scale, self.after.scale


@dataclass(frozen=True, slots=True)
class Preview:
    """The complete differences between two versions, with team names.

    `boards` contains the changes of each leaderboard by split. `selections` contains the ids of the teams for
    which other submissions compete on the private leaderboard: selected ones stay, but the others are filled
    up by public score. `scored` contains the numbers of submissions with scores before and after, `changed`
    that of submissions whose displayed score changes, and `largest` the size of the largest change.
    `means` contains the mean of each term, and of the score in each of the first groups, before and after,
    over the submissions scored under both versions. `named` contains the names of the named leaderboards by
    key.
    """

    versions: Compared
    boards: Mapping[tuple[str, Split], BoardChange]
    selections: tuple[int, ...]
    scored: tuple[int, int]
    changed: int
    largest: Decimal
    teams: Mapping[int, str]
    means: Means
    progress: Progress
    named: Mapping[str, str]

    @property
    def digest(self) -> str:
        """A value that changes with the versions, the ranks of teams that move, the leaders or the scores."""
        parts = [
            [version.id for version in self.versions],
            [[board.moved, board.leaders] for board in self.boards.values()],
            [self.selections, self.changed, self.largest, self.progress.lost],
        ]
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def sentences(self) -> Iterator[str]:
        """Yield the changes of ranks, leaders, scores and selections as sentences."""
        before, after = self.scored
        moved = any(board.moved for board in self.boards.values())
        if not (moved or self.changed or self.selections or before != after):
            yield "Nothing changes: every submission keeps its displayed scores, and every team its rank."
            return
        for (key, split), board in self.boards.items():
            name = f"{split} leaderboard{key and ' ' + self.named[key]}"
            old, new = (self.teams.get(each or 0, "no team") for each in board.leaders)
            leader = "stays the same" if old == new else f"changes from {old} to {new}"
            ranks = f"{len(board.moved):,} of {counted(len(board.teams), 'team')}"
            yield f"Rank changes on the {name}: {ranks}; the leader {leader}."
        yield (
            f"Changes of displayed scores: {self.changed:,} of {counted(after, 'submission')}; the largest "
            f"change is {change_text(self.largest).lstrip('+')}."
        )
        if before != after:
            yield f"Scored submissions: {before:,} before the rescoring, {after:,} after it."
        if self.selections:
            yield f"Changes of final selections: {counted(len(self.selections), 'team')}."


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
    values: dict[str, Value] = {term: ("terms", term) for term in Rules.of(versions.after).term_names}
    groups = [line for line in versions.after.solution.report.get("groups", ()) if line["is_defined"]]
    for column, name in [(line["column"], line["value"]) for line in groups[:MOST_GROUPS]]:
        values[f"{column} = {name}"] = ("groups", (column, name, "score"))
    pairs, out = _pairs(session, versions), shown_scores.disqualified(session, competition_id=competition.id)
    scored = [each.before for each in pairs if each.before], [each.after for each in pairs if each.after]
    before, after = (
        selection.compute(each, disqualified=out, selection_count=competition.selection_count)
        for each in scored
    )
    sizes = [max(map(abs, changes)) for each in pairs if (changes := each.changes(versions.scales))]
    teams = sorted(before.choices.keys() | after.choices)
    return Preview(
        versions=versions,
        boards=comparison.compare(before, after),
        selections=tuple(each for each in teams if before.choices.get(each) != after.choices.get(each)),
        scored=(len(scored[0]), len(scored[1])),
        changed=sum(size > 0 for size in sizes),
        largest=max(sizes, default=Decimal(0)),
        teams=_team_names(session, competition),
        means=_means(session, competition, versions, values),
        progress=preparation.progress(session, version=versions.after),
        named={rule.key: rule.name for rule in boards.of(competition, versions.after)},
    )


def _team_names(session: Session, competition: Competition) -> dict[int, str]:
    query = select(Team.id, Team.name).where(Team.competition_id == competition.id)
    return dict(session.execute(query).all())


def _means(
    session: Session, competition: Competition, versions: Compared, values: Mapping[str, Value]
) -> Means:
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


def _pairs(session: Session, versions: Compared) -> list[ScorePair]:
    """Return each submission that is scored under one of the versions, ordered by id."""
    before, after = (
        {
            each.submission_id: each
            for each in shown_scores.scored(
                session, scoring_version_id=version.id, kinds=tuple(SubmissionKind)
            )
        }
        for version in versions
    )
    return [ScorePair(before.get(each), after.get(each)) for each in sorted(before.keys() | after)]


def submissions_csv(session: Session, *, competition: Competition, versions: Compared) -> Iterator[str]:
    """Yield every submission's displayed scores under both versions as CSV."""
    numbers = tuple(f"v{version.number}" for version in versions)
    header = (
        *("submission", "team_id", "team", "kind", "is_selected", "submitted_at"),
        *(f"{split}_{number}" for split in Split for number in numbers),
        *(f"{split}_change" for split in Split),
    )
    yield csv_lines([header])
    teams, pairs, scales = _team_names(session, competition), _pairs(session, versions), versions.scales
    for start in range(0, len(pairs), CHUNK):
        yield csv_lines([_csv_row(pair, teams, scales) for pair in pairs[start : start + CHUNK]])


def _csv_row(pair: ScorePair, teams: Mapping[int, str], scales: Scales) -> tuple[object, ...]:
    known, (old, new) = pair.known, scales
    changes = tuple(map(change_text, pair.changes(scales))) or (None, None)
    return (
        known.submission_id,
        known.team_id,
        teams[known.team_id],
        known.kind.value,
        "true" if known.is_selected else "false",
        iso(known.submitted_at),
        pair.before and old.text(pair.before.public_units),
        pair.after and new.text(pair.after.public_units),
        pair.before and old.text(pair.before.private_units),
        pair.after and new.text(pair.after.private_units),
        *changes,
    )
