"""Submission results visible to the viewer: scores, terms, identities, rank."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from fairboard.groups import GroupValue, WeakestGroup, weakest_group
from fairboard.interface import Description, GroupLine, Recounted
from fairboard.lost_score import CostedTerm, Loss, in_units, term_costs
from grader.errors import ErrorKind, Refusal
from grader.metrics import registry
from grader.models import (
    Competition,
    Score,
    ScoringVersion,
    Split,
    Standing,
    Submission,
    SubmissionKind,
    SubmissionStatus,
    on_board,
)
from grader.ranking import order
from grader.ranking.order import SCALE, Scale, TeamEntry
from grader.services.competitions import lookup, team_names
from grader.services.competitions.metric import Rules
from grader.services.leaderboards import board, group_tables, score_history, shown_scores
from grader.services.leaderboards.group_tables import GroupTable
from grader.services.leaderboards.ranks import Standings
from grader.services.leaderboards.rows import to_entry
from grader.visibility import Field, Phase, Viewer, visible_fields

_TERMS = {Split.PUBLIC: Field.PUBLIC_TERMS, Split.PRIVATE: Field.PRIVATE_TERMS}
_SCORES = {Split.PUBLIC: Field.PUBLIC_SCORE, Split.PRIVATE: Field.PRIVATE_SCORE}
_CELLS = {
    Split.PUBLIC: (Field.PUBLIC_IDENTITIES, Field.PUBLIC_GAPS),
    Split.PRIVATE: (Field.PRIVATE_IDENTITIES, Field.PRIVATE_GAPS),
}


@dataclass(frozen=True, slots=True)
class IdentityRow:
    """One row of the identity table: the visible cells by column name, rounded to 2 decimals."""

    name: str
    cells: Mapping[str, float | None]


@dataclass(frozen=True)
class SplitResult:
    """The visible result of a submission on one split.

    `score` is text, and `score_units` is the same score in units of `scale`.
    `terms`, `costs` (the terms sorted by cost), `identities` and `groups` are empty if hidden. `errors`
    contains the standard errors of the exact score and of the displayed terms. `parts` are the costs by term
    and group: of exact AUCs for organizers, of displayed ones for all others, because exact ones reveal more.
    `values` are the displayed values of groups by term or column, with standard errors.
    """

    score: str
    score_units: int
    terms: Mapping[str, float]
    costs: tuple[CostedTerm, ...]
    identities: tuple[IdentityRow, ...]
    scale: Scale = SCALE
    errors: Mapping[str, float] = field(default_factory=dict)
    parts: Mapping[tuple[str, str], float] = field(default_factory=dict)
    groups: tuple[GroupTable, ...] = ()
    split: Split = Split.PUBLIC
    values: Mapping[str, Mapping[str, GroupValue]] = field(default_factory=dict)
    about: Description = field(default_factory=registry.default)

    @property
    def best_units(self) -> int:
        """The best possible score in units; the score itself if the best is unknown."""
        return self.score_units if self.about.best is None else self.scale.units(self.about.best)

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """The distance from the best possible score by term and group, largest first; empty if hidden."""
        if abs(self.score_units) >= order.LARGEST_UNITS:
            return ()
        total = self.best_units - self.score_units
        return tuple(in_units(self.parts, total, lambda units: abs(self.scale.value(units))))

    @cached_property
    def weakest_group(self) -> WeakestGroup | None:
        """The group that is named on all pages; None if all groups are equal within chance."""
        return weakest_group(self.values, self.about.direction)

    @property
    def weakest_term(self) -> str | None:
        """The costliest term; None if all are equal or the terms are hidden."""
        return self.costs[0].term if len({each.cost for each in self.costs}) > 1 else None


@dataclass(frozen=True, slots=True)
class Overview:
    """A submission's results and ranks; fields are None if hidden or missing.

    `before` is the team's best earlier submission. `entry` is the team's entry on the public leaderboard, and
    `rank` its rank. `would_rank` is the private rank that a late submission would have had.
    """

    submission_id: int
    public: SplitResult | None = None
    private: SplitResult | None = None
    before: TeamEntry | None = None
    entry: TeamEntry | None = None
    rank: int | None = None
    team_count: int = 0
    would_rank: int | None = None

    @property
    def is_entry(self) -> bool:
        """Whether this submission is the team's entry on the public leaderboard."""
        return self.entry is not None and self.entry.submission_id == self.submission_id

    @property
    def gain_units(self) -> int | None:
        """The difference of this score and that of the best earlier submission."""
        if self.public is None or self.before is None:
            return None
        return self.public.scale.difference(self.public.score_units, self.before.score_units)


def summary(session: Session, *, submission: Submission, viewer: Viewer, phase: Phase) -> Overview:
    """Return a submission's visible results under the live scoring version."""
    outline = Overview(submission.id)
    if submission.status is not SubmissionStatus.SCORED:
        return outline
    version, competition = lookup.live(submission.competition), submission.competition
    allowed = visible_fields(viewer, phase, competition.feedback)
    by_id = split_results_of(session, submission_ids=[submission.id], version=version, allowed=allowed)
    public, private = (by_id[submission.id].get(split) for split in Split)
    outline = replace(outline, public=public, private=private)
    standings = Standings(session, version.id, Split.PUBLIC)
    if Field.PUBLIC_RANK in allowed:
        entry, rank = standings.ranked_entry_of(submission.team_id) or (None, None)
        outline = replace(outline, entry=entry, rank=rank, team_count=standings.count_teams())
    if public is not None:
        own = score_history.own_scores(session, team=submission.team, version=version, allowed=allowed)
        before = next(each.before for each in own if each.submission.id == submission.id)
        outline = replace(outline, before=before)
    if private is not None and submission.kind is SubmissionKind.LATE:
        late = TeamEntry(submission.team_id, submission.id, private.score_units, submission.submitted_at)
        outline = replace(outline, would_rank=replace(standings, split=Split.PRIVATE).rank_of(late))
    return outline


def split_results_of(
    session: Session, *, submission_ids: Sequence[int], version: ScoringVersion, allowed: Collection[Field]
) -> dict[int, dict[Split, SplitResult]]:
    """Return the results of submissions on each allowed split by id, without reading other scores."""
    splits = [split for split, score in _SCORES.items() if score in allowed]
    rules, competition = Rules.of(version), session.get_one(Competition, version.competition_id)
    results: dict[int, dict[Split, SplitResult]] = {submission_id: {} for submission_id in submission_ids}
    rows = session.scalars(
        select(Score).where(
            Score.submission_id.in_(submission_ids),
            Score.scoring_version_id == version.id,
            Score.split.in_(splits),
        )
    )
    for row in rows:
        if Field.PUBLIC_EXACT in allowed or row.split is Split.PRIVATE:
            result = _exact(row, rules, version.scale, allowed)
        elif (units := shown_scores.units(competition, row.score)) is not None:
            scale = shown_scores.scale(competition)
            result = SplitResult(scale.text(units), units, {}, (), (), scale, about=rules.about)
        else:
            continue
        results[row.submission_id][row.split] = result
    return results


def _exact(score: Score, rules: Rules, scale: Scale, allowed: Collection[Field]) -> SplitResult:
    """Return an exact score with the visible terms and values of groups."""
    about, scorer, units = rules.about, rules.scorer, scale.units(score.score)
    # The values of a group of which terms are means are a field of their own.
    means, fields = {term.name for term in about.terms}, _CELLS[score.split]
    cells = [each.name for each in about.cells if fields[each.name not in means] in allowed]
    has_groups = any(field in allowed for field in fields)
    names = rules.term_names if _TERMS[score.split] in allowed else ()
    terms = shown_scores.rounded_terms(score.terms, names, about.decimals_of_terms)
    tables = group_tables.tables(score.groups, rules.metric.groups, about.direction) if has_groups else ()
    groups: Sequence[GroupLine] = ()
    errors = shown_scores.shown_errors(score.errors, terms)
    values: Mapping[str, Mapping[str, GroupValue]]
    if isinstance(scorer, Recounted):
        _, exact = scorer.recount(score.evidence) if has_groups else ({}, ())
        groups = [
            replace(each, cells={name: order.rounded_cell(cell) for name, cell in each.cells.items()})
            for each in exact
        ]
        parts = scorer.loss_parts(terms, exact if Field.LABELS in allowed else groups)
        values = {
            term.name: {
                each.name: GroupValue(value, each.errors[term.name])
                for each in groups
                if (value := each.cells[term.name]) is not None
            }
            for term in about.terms
            if term.is_over_groups and term.name in cells
        }
    else:
        parts = group_tables.loss_parts(tables, rules.metric, about, terms)
        error = errors.get("overall", errors.get("score"))
        overall = terms.get("overall", scale.value(units))
        values = group_tables.values_with_errors(score.groups if has_groups else {}, about, overall, error)
    return SplitResult(
        score=scale.text(units),
        score_units=units,
        terms=terms,
        costs=term_costs(terms, about.terms),
        identities=tuple(
            IdentityRow(each.name, {cell: each.cells[cell] for cell in cells}) for each in groups
        ),
        scale=scale,
        errors=errors,
        parts=parts,
        groups=tables,
        split=score.split,
        values=values,
        about=about,
    )


@dataclass(frozen=True, slots=True)
class CountedEntry:
    """A team's private entry and its visible results."""

    submission_id: int
    team_id: int
    team: str
    rank: int
    team_count: int
    results: Mapping[Split, SplitResult]


def get_counted(
    session: Session, *, competition: Competition, submission_id: int, viewer: Viewer, phase: Phase
) -> CountedEntry:
    """Return the private entry with this id; raise Refusal or BoardNotRevealed."""
    board.require_private(competition, viewer=viewer, phase=phase)
    version = lookup.live(competition)
    standing = session.scalar(
        select(Standing)
        .where(
            *on_board(version.id, Split.PRIVATE),
            Standing.submission_id == submission_id,
        )
        .options(joinedload(Standing.team))
    )
    if standing is None:
        message = f"Submission {submission_id} is not on the private leaderboard."
        raise Refusal("not_counted", ErrorKind.NOT_FOUND, message)
    standings = Standings(session, version.id, Split.PRIVATE)
    return CountedEntry(
        submission_id=submission_id,
        team_id=standing.team_id,
        team=team_names.shown(standing.team, competition, viewer),
        rank=standings.rank_of(to_entry(standing)),
        team_count=standings.count_teams(),
        results=split_results_of(
            session,
            submission_ids=[submission_id],
            version=version,
            allowed=visible_fields(viewer, phase, competition.feedback),
        )[submission_id],
    )
