"""Differences between two scoring versions: scores, ranks, CSV files, summary.

The comparison itself is a pure function in `ranking.comparison`. It includes late, benchmark and hidden
submissions as well as those of disqualified teams.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Select, String, and_, func, or_, select
from sqlalchemy.orm import Session, aliased

from grader.metrics.boards import BoardRule
from grader.models import (
    Competition,
    JobState,
    Score,
    ScoringJob,
    ScoringVersion,
    ScoringVersionState,
    Split,
    Submission,
    SubmissionStatus,
    Team,
)
from grader.ranking import comparison
from grader.ranking.comparison import BoardChange, ScorePair, TeamChange, VersionDifference
from grader.ranking.order import Scale
from grader.ranking.selection import Scored
from grader.services.competitions import boards, lookup, metric
from grader.services.leaderboards import shown_scores
from grader.services.rescoring import preparation
from grader.services.site import leased_rows
from grader.text import counted, csv_lines

CHUNK = 2_000
TOPS = (1, 3, 10, 50)  # top ranks whose changes are shown
MOST_GROUPS = 50

Key = TypeVar("Key")
Value = tuple[str, str | tuple[str, ...]]  # a column of scores and the path in its JSON
_SIDES = tuple((side, split) for side in ("before", "after") for split in Split)


class Compared(NamedTuple):
    """Two scoring versions: `after` replaces or would replace `before`."""

    before: ScoringVersion
    after: ScoringVersion

    @property
    def scales(self) -> tuple[Scale, Scale]:
        """The scales of the scores of both versions, with units of the same size, and each with its text."""
        scales = [version.scale for version in self]
        decimals = max(each.decimals for each in scales)
        before, after = (replace(each, decimals=decimals, shown_decimals=each.decimals) for each in scales)
        return before, after


class Gaps(NamedTuple):
    """The numbers of missing results and of lost scores under a scoring version."""

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
    term_means: Mapping[Split, Mapping[str, tuple[float, float]]]
    gaps: Gaps
    group_means: Mapping[Split, Mapping[tuple[str, str], tuple[float, float]]] = field(default_factory=dict)
    named: Mapping[str, str] = field(default_factory=dict)

    @property
    def scale(self) -> Scale:
        """The scale of the changes from one version to the other."""
        return replace(self.versions.scales[1], shown_decimals=None)

    def change_text(self, units: int | None) -> str | None:
        """Return a change of a displayed score with its sign, such as ``+0.00120``; None if unknown."""
        return change_text(self.scale, units)

    @property
    def term_changes(self) -> dict[Split, dict[str, float]]:
        """The mean change of each term."""
        return {
            split: {term: after - before for term, (before, after) in means.items()}
            for split, means in self.term_means.items()
        }

    @property
    def is_complete(self) -> bool:
        """Whether every submission on the live leaderboards has a result under the new version."""
        return self.gaps.unfinished == 0


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
    return Preview(
        versions=versions,
        difference=comparison.compare(
            (pair for _, pair in pairs(session, competition=competition, versions=versions)),
            disqualified=shown_scores.disqualified(session, competition_id=competition.id),
            selection_count=competition.selection_count,
        ),
        teams=dict(
            session.execute(select(Team.id, Team.name).where(Team.competition_id == competition.id)).all()
        ),
        term_means=_means(session, competition, versions, _terms(versions.after)),
        gaps=gaps(session, competition=competition, version=versions.after),
        group_means=_means(session, competition, versions, _groups(versions.after)),
        named={rule.key: rule.name for rule in boards.of(competition, versions.after)},
    )


def _terms(version: ScoringVersion) -> dict[str, Value]:
    return {term: ("terms", term) for term in metric.term_names(version)}


def _groups(version: ScoringVersion) -> dict[tuple[str, str], Value]:
    lines = [line for line in version.solution.report.get("groups", ()) if line["is_defined"]]
    places = [(line["column"], line["value"]) for line in lines[:MOST_GROUPS]]
    return {place: ("groups", (*place, "score")) for place in places}


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


def state(session: Session, *, competition: Competition, versions: Compared) -> str:
    """Return a digest that changes with the result of `preview`; scores change only when a job ends."""
    jobs = (
        select(ScoringJob.scoring_version_id, ScoringJob.state, func.count())
        .where(ScoringJob.scoring_version_id.in_([version.id for version in versions]))
        .group_by(ScoringJob.scoring_version_id, ScoringJob.state)
        .order_by(ScoringJob.scoring_version_id, ScoringJob.state)
    )
    parts = [
        competition.id,
        competition.selection_count,
        competition.boards,
        [version.id for version in versions],
        session.execute(jobs).all(),
        _listed(session, competition, Submission, "team_id", "kind", "is_selected", "status"),
        _listed(session, competition, Team, "name", "disqualified_at"),
    ]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def gaps(session: Session, *, competition: Competition, version: ScoringVersion) -> Gaps:
    """Return the numbers of submissions without a result and of those that would lose scores."""
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


def _listed(
    session: Session, competition: Competition, model: type[Submission] | type[Team], *names: str
) -> str | None:
    """Return columns of a competition's rows as one text, which the database aggregates."""
    columns = [model.id, *(getattr(model, name) for name in names)]
    line = columns[0].cast(String)
    for column in columns[1:]:
        line = line + "," + func.coalesce(column.cast(String), "")
    rows = select(line.label("line")).where(model.competition_id == competition.id).order_by(model.id)
    return session.scalar(select(func.aggregate_strings(rows.subquery().c.line, ";")))


def pairs(
    session: Session, *, competition: Competition, versions: Compared
) -> Iterator[tuple[str, ScorePair]]:
    """Yield each scored submission with its team's name, ordered by id."""
    rows = session.execute(_query(competition, versions).execution_options(yield_per=CHUNK))
    own, (one, other) = [version.scale for version in versions], versions.scales
    factors = [10 ** (one.decimals - each.decimals) for each in own]
    rules = [boards.of(competition, version) for version in versions]
    width = 6 if competition.boards else 2
    sign = 1 if one.is_lowest_best == other.is_lowest_best else -1
    for row in rows:
        *known, team = row[: -2 * width]
        before, after = (
            _scored(competition, known, *each)
            for each in zip(own, factors, rules, (row[-2 * width : -width], row[-width:]), strict=True)
        )
        yield team, ScorePair(before, after, sign)


def _scored(
    competition: Competition,
    known: list[Any],
    scale: Scale,
    factor: int,
    rules: Sequence[BoardRule],
    values: Sequence[Any],
) -> Scored | None:
    public, private, *more = values
    if public is None or private is None:
        return None
    shown = shown_scores.units(competition, public, scale)
    submission_id, team_id, submitted_at, kind, is_selected = known
    return Scored(
        submission_id=submission_id,
        team_id=team_id,
        submitted_at=submitted_at,
        public_units=scale.units(public) * factor,
        private_units=scale.units(private) * factor,
        kind=kind,
        is_selected=is_selected,
        shown_units=None if shown is None else shown * factor,
        named=shown_scores.named(competition, rules, (public, *more[:2]), (private, *more[2:]))
        if rules
        else {},
    )


def _query(competition: Competition, versions: Compared) -> Select[*tuple[Any, ...]]:
    scores = {each: aliased(Score) for each in _SIDES}
    query = select(
        Submission.id,
        Submission.team_id,
        Submission.submitted_at,
        Submission.kind,
        Submission.is_selected,
        Team.name,
        *(value for side in ("before", "after") for value in _values(competition, scores, side)),
    ).join(Team, Team.id == Submission.team_id)
    for (side, split), score in scores.items():
        query = query.outerjoin(
            score,
            and_(
                score.submission_id == Submission.id,
                score.scoring_version_id == getattr(versions, side).id,
                score.split == split,
            ),
        )
    anything = or_(*(scores[side, Split.PUBLIC].id.is_not(None) for side in ("before", "after")))
    return query.where(Submission.competition_id == competition.id, anything).order_by(Submission.id)


def _values(competition: Competition, scores: Mapping[tuple[str, Split], Any], side: str) -> list[Any]:
    """Return the columns of both scores and, for named leaderboards, of their terms and groups."""
    both = [scores[side, split] for split in Split]
    more = [value for each in both for value in (each.terms, each.groups)] if competition.boards else []
    return [*(each.score for each in both), *more]


def submissions_csv(session: Session, *, competition: Competition, versions: Compared) -> Iterator[str]:
    """Yield every submission's displayed scores under both versions as CSV."""
    numbers = tuple(f"v{version.number}" for version in versions)
    yield csv_lines(
        [
            [
                *("submission", "team_id", "team", "kind", "is_selected", "submitted_at"),
                *(f"{split}_{number}" for split in Split for number in numbers),
                *(f"{split}_change" for split in Split),
            ]
        ]
    )
    batch: list[tuple[object, ...]] = []
    for team, pair in pairs(session, competition=competition, versions=versions):
        batch.append(_submission_cells(versions.scales, team, pair))
        if len(batch) == CHUNK:
            yield csv_lines(batch)
            batch.clear()
    yield csv_lines(batch)


def change_text(scale: Scale, units: int | None) -> str | None:
    """Return a change of a displayed score with its sign, such as ``+0.00120``; None if unknown."""
    return None if units is None else scale.signed_text(units)


def _submission_cells(scales: tuple[Scale, Scale], team: str, pair: ScorePair) -> tuple[object, ...]:
    known, sides = pair.known, tuple(zip((pair.before, pair.after), scales, strict=True))
    scale = replace(scales[1], shown_decimals=None)
    return (
        known.submission_id,
        known.team_id,
        team,
        known.kind.value,
        "true" if known.is_selected else "false",
        known.submitted_at.isoformat().replace("+00:00", "Z"),
        *(side and own.text(side.public_units) for side, own in sides),
        *(side and own.text(side.private_units) for side, own in sides),
        change_text(scale, pair.public_change),
        change_text(scale, pair.private_change),
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
        return cls(tuple(_sentences(preview)), hashlib.sha256(repr(_parts(preview)).encode()).hexdigest())

    @property
    def text(self) -> str:
        """The sentences as one text."""
        return " ".join(self.sentences)


def _sentences(preview: Preview) -> Iterator[str]:
    difference = preview.difference
    public, private = difference.public, difference.private
    is_same = difference.scored_before == difference.scored_after and not difference.changed
    named = [
        f"{preview.named.get(key, key)}: {_moving(one)} on the public leaderboard and {_moving(other)} on "
        "the private one."
        for key, (one, other) in difference.named.items()
    ]
    is_moved = any(each.moved for each in (public, private, *chain(*difference.named.values())))
    if is_same and not (is_moved or difference.selections):
        yield "Nothing changes. Every submission keeps its displayed scores, and every team keeps its rank."
        return
    if public.moved or private.moved:
        moves = f"{_moving(public)} on the public leaderboard and {_moving(private)} on the private one"
    else:
        moves = "No team changes rank on either leaderboard"
    leaders = [*_leaders(preview, public, "public"), *_leaders(preview, private, "private")]
    yield f"{moves}; {'; '.join(leaders) or 'the leader stays the same on both leaderboards'}."
    yield from named
    yield _score_sentence(preview)
    if difference.selections:
        competes = "competes" if len(difference.selections) == 1 else "compete"
        yield f"{counted(len(difference.selections), 'team')} {competes} with different submissions."


def _moving(board: BoardChange) -> str:
    moved = len(board.moved)
    return f"{moved:,} of {counted(len(board.teams), 'team')} {'changes' if moved == 1 else 'change'} rank"


def _leaders(preview: Preview, board: BoardChange, name: str) -> Iterator[str]:
    before, after = _leader(board, "before"), _leader(board, "after")
    if before != after:
        old = preview.teams[before] if before is not None else "no team"
        new = preview.teams[after] if after is not None else "no team"
        yield f"the leader of the {name} leaderboard changes from {old} to {new}"


def _leader(board: BoardChange, side: str) -> int | None:
    lines = ((team, getattr(team, side)) for team in board.teams)
    return next((team.team_id for team, line in lines if line is not None and line.rank == 1), None)


def _score_sentence(preview: Preview) -> str:
    difference = preview.difference
    more = difference.scored_after - difference.scored_before
    if more:
        verb = "has" if abs(more) == 1 else "have"
        gained = (
            f" {counted(abs(more), 'submission')} {verb} a score only "
            f"{'after' if more > 0 else 'before'} the rescoring."
        )
    else:
        gained = ""
    if not difference.changed:
        return f"No displayed score changes.{gained}"
    verb = "gets" if difference.changed == 1 else "get"
    return (
        f"{difference.changed:,} of {counted(difference.scored_after, 'submission')} {verb} a different "
        f"displayed score; the largest change is {preview.scale.size_text(_largest(preview))}.{gained}"
    )


def _largest(preview: Preview) -> int:
    pairs = preview.difference.largest[:1]
    return max(
        (abs(change or 0) for pair in pairs for change in (pair.public_change, pair.private_change)),
        default=0,
    )


def _parts(preview: Preview) -> list[object]:
    difference = preview.difference
    boards = (difference.public, difference.private, *chain(*difference.named.values()))
    return [
        [version.id for version in preview.versions],
        [[_place(team) for team in board.moved] for board in boards],
        [(_leader(board, "before"), _leader(board, "after")) for board in boards],
        [(each.team_id, each.entering, each.leaving) for each in difference.selections],
        _largest(preview),
        preview.gaps.lost,
    ]


def _place(team: TeamChange) -> tuple[int, int | None, int | None]:
    before = team.before.rank if team.before else None
    return team.team_id, before, team.after.rank if team.after else None
