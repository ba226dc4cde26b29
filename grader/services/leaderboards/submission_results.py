"""Submission results visible to the viewer: scores, terms, identities, rank."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from fairboard.groups import GroupValue, WeakestGroup, weakest_group
from fairboard.interface import Description, GroupLine, Recounted
from fairboard.losses import CostedTerm, Loss, in_units, term_costs, weakest_term
from grader.errors import ErrorKind, ParticipantError
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
        return weakest_term(self.costs)


@dataclass(frozen=True, slots=True)
class Overview:
    """A submission's results and ranks; fields are None if hidden or missing.

    `best_before_*` describe the team's best earlier submission, and `gain_units` is this submission's score
    minus its score. `best_id` is the team's entry on the public leaderboard, and `team_rank` is its rank. If
    this submission is that entry, `rank` equals `team_rank`, and `previous_rank` is the rank that the best
    earlier submission would have. `would_rank` is the private rank that a late submission would have had.
    """

    public: SplitResult | None = None
    private: SplitResult | None = None
    best_before_units: int | None = None
    best_before_id: int | None = None
    best_id: int | None = None
    team_rank: int | None = None
    gain_units: int | None = None
    rank: int | None = None
    previous_rank: int | None = None
    team_count: int | None = None
    would_rank: int | None = None


def summary(session: Session, *, submission: Submission, viewer: Viewer, phase: Phase) -> Overview:
    """Return a submission's visible results under the live scoring version."""
    if submission.status is not SubmissionStatus.SCORED:
        return Overview()
    version, competition = lookup.live(submission.competition), submission.competition
    allowed = visible_fields(viewer, phase, competition.feedback)
    by_id = split_results_of(session, submission_ids=[submission.id], version=version, allowed=allowed)
    public, private = (by_id[submission.id].get(split) for split in Split)
    outline = Overview(private=private)
    if public is None and Field.PUBLIC_RANK not in allowed:
        return outline
    standings = Standings(session, version.id, Split.PUBLIC)
    standing, team_rank = standings.ranked_entry_of(submission.team_id) or (None, None)
    outline = replace(outline, best_id=standing.submission_id if standing else None, team_rank=team_rank)
    if public is None:
        return outline
    shown, before = (
        next(each.before for each in own if each.submission_id == submission.id)
        for fields in (allowed - {Field.PUBLIC_EXACT}, allowed)
        for own in [score_history.own_scores(session, team=submission.team, version=version, allowed=fields)]
    )
    stands = standing is not None and standing.submission_id == submission.id
    would_rank = None
    if private is not None and submission.kind is SubmissionKind.LATE:
        late = TeamEntry(submission.team_id, submission.id, private.score_units, submission.submitted_at)
        would_rank = replace(standings, split=Split.PRIVATE).rank_of(late)
    return replace(
        outline,
        public=public,
        best_before_units=before.score_units if before else None,
        best_before_id=before.submission_id if before else None,
        gain_units=public.scale.difference(public.score_units, before.score_units) if before else None,
        rank=team_rank if stands else None,
        previous_rank=standings.rank_of(shown) if stands and shown else None,
        team_count=standings.count_teams(),
        would_rank=would_rank,
    )


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
    tables = group_tables.tables(score.groups, rules.metric, about.direction) if has_groups else ()
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


class NotCounted(ParticipantError):
    """The submission is not its team's entry on the private leaderboard."""

    public_name = "not_counted"
    kind = ErrorKind.NOT_FOUND
    message = "Submission {submission_id} is not on the private leaderboard."


@dataclass(frozen=True, slots=True)
class CountedEntry:
    """A team's private entry and its visible results."""

    submission_id: int
    team_id: int
    team: str
    rank: int
    team_count: int
    submitted_at: datetime
    results: Mapping[Split, SplitResult]


def get_counted(
    session: Session, *, competition: Competition, submission_id: int, viewer: Viewer, phase: Phase
) -> CountedEntry:
    """Return the private entry with this id; raise NotCounted or the errors of `require_private`."""
    board.require_private(competition, viewer=viewer, phase=phase)
    version = lookup.live(competition)
    standing = session.scalar(
        select(Standing)
        .where(
            *on_board(version.id, Split.PRIVATE),
            Standing.submission_id == submission_id,
        )
        .options(joinedload(Standing.submission), joinedload(Standing.team))
    )
    if standing is None:
        raise NotCounted(submission_id=submission_id)
    standings = Standings(session, version.id, Split.PRIVATE)
    return CountedEntry(
        submission_id=submission_id,
        team_id=standing.team_id,
        team=team_names.shown(standing.team, competition, viewer),
        rank=standings.rank_of(to_entry(standing)),
        team_count=standings.count_teams(),
        submitted_at=standing.submission.submitted_at,
        results=split_results_of(
            session,
            submission_ids=[submission_id],
            version=version,
            allowed=visible_fields(viewer, phase, competition.feedback),
        )[submission_id],
    )
