"""Submission results visible to the viewer: scores, terms, identities, rank."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

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
from grader.services.leaderboards import board, group_tables, shown_scores
from grader.services.leaderboards.group_tables import GroupTable
from grader.services.leaderboards.ranks import Standings
from grader.services.leaderboards.rows import to_entry
from grader.visibility import Field, Phase, Viewer, visible_fields

CHUNK = 1000

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
    about: Description = field(default_factory=registry.default)

    @property
    def best_units(self) -> int:
        """The best possible score in units; the score itself if the best is unknown."""
        return self.score_units if self.about.best is None else self.scale.units(self.about.best)

    @cached_property
    def all_losses(self) -> tuple[Loss, ...]:
        """The distance from the best possible score by term and group, largest first; empty if hidden."""
        if abs(self.score_units) >= order.LARGEST_UNITS:
            return ()
        total = self.best_units - self.score_units
        return tuple(in_units(self.parts, total, lambda units: abs(self.scale.value(units))))

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses without a group, and those above two standard errors of their term's part of the score.

        Without a known standard error of the score, no loss of a group is listed. The largest come first.
        """
        errors = {"": self.errors.get("score", math.inf)}
        for term in self.about.terms:
            if term.weight is not None and term.name in self.errors:
                errors[term.name] = term.weight * self.errors[term.name]
        return tuple(
            each
            for each in self.all_losses
            if not each.group or each.amount > 2 * errors.get(each.term, errors[""])
        )

    @property
    def costliest_group(self) -> tuple[str, float] | None:
        """The group that costs the most over all terms, and its cost; None if no loss of a group is clear."""
        clear = {each.group for each in self.losses if each.group}
        costs = {name: sum(each.units for each in self.all_losses if each.group == name) for name in clear}
        name = min(costs, key=lambda each: (-costs[each], each), default=None)
        return None if name is None else (name, abs(self.scale.value(costs[name])))

    @property
    def within_chance(self) -> float:
        """The sum of the losses that are not listed."""
        units = sum(each.units for each in self.all_losses) - sum(each.units for each in self.losses)
        return abs(self.scale.value(units))

    @property
    def weakest_term(self) -> str | None:
        """The costliest term; None if all are equal or the terms are hidden."""
        return weakest_term(self.costs)


@dataclass(frozen=True, slots=True)
class Overview:
    """A submission's results and ranks; fields are None if hidden or missing.

    `best_before_*` describe the team's best earlier submission, and `gain_units` is this submission's score
    minus its score. `best_id` is the
    team's entry on the public leaderboard, and `team_rank` is its rank. If this submission is that entry,
    `rank` equals `team_rank`, and `previous_rank` is the rank that the best earlier submission would have.
    `would_rank` is the rank that a late submission would have had, on the private leaderboard if the viewer
    may see it.
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
    version = lookup.live(submission.competition)
    allowed = visible_fields(viewer, phase, submission.competition.feedback)
    results = split_results(session, submission=submission, version=version, allowed=allowed)
    earlier, own = _public_scores(session, submission, version)
    before_shown = order.best(each.shown for each in earlier if each.shown)
    outline = Overview(private=results.get(Split.PRIVATE))
    public = results.get(Split.PUBLIC)
    if public is None and Field.PUBLIC_RANK not in allowed:
        return outline
    standings = Standings(session, version.id, Split.PUBLIC)
    standing, team_rank = standings.ranked_entry_of(submission.team_id) or (None, None)
    outline = replace(outline, best_id=standing.submission_id if standing else None, team_rank=team_rank)
    if public is None:
        return outline
    before = order.best(each.exact for each in earlier) if Field.PUBLIC_EXACT in allowed else before_shown
    stands = standing is not None and standing.submission_id == submission.id
    return replace(
        outline,
        public=public,
        best_before_units=before.score_units if before else None,
        best_before_id=before.submission_id if before else None,
        gain_units=public.score_units - before.score_units if before else None,
        rank=team_rank if stands else None,
        previous_rank=standings.rank_of(before_shown) if stands and before_shown else None,
        team_count=standings.count_teams(),
        would_rank=_late_rank(session, submission, version, results, own.shown),
    )


def split_results(
    session: Session, *, submission: Submission, version: ScoringVersion, allowed: Collection[Field]
) -> dict[Split, SplitResult]:
    """Return a submission's result on each allowed split, without reading other scores."""
    results = split_results_of(session, submission_ids=[submission.id], version=version, allowed=allowed)
    return results[submission.id]


def split_results_of(
    session: Session, *, submission_ids: Sequence[int], version: ScoringVersion, allowed: Collection[Field]
) -> dict[int, dict[Split, SplitResult]]:
    """Return the results of several submissions by id, as `split_results` does."""
    splits = [split for split, score in _SCORES.items() if score in allowed]
    rules, own, decimals = Rules.of(version), version.scale, shown_scores.term_decimals(version)
    is_exact = Field.PUBLIC_EXACT in allowed
    competition = session.get_one(Competition, version.competition_id)
    results: dict[int, dict[Split, SplitResult]] = {submission_id: {} for submission_id in submission_ids}
    for start in range(0, len(submission_ids), CHUNK):
        rows = session.scalars(
            select(Score).where(
                Score.submission_id.in_(submission_ids[start : start + CHUNK]),
                Score.scoring_version_id == version.id,
                Score.split.in_(splits),
            )
        )
        for row in rows:
            has_terms, cells = _TERMS[row.split] in allowed, _cells(row.split, allowed, rules.about)
            has_groups = any(field in allowed for field in _CELLS[row.split])
            if is_exact or row.split is Split.PRIVATE:
                result = _exact(
                    row,
                    rules,
                    own,
                    decimals,
                    has_terms=has_terms,
                    has_groups=has_groups,
                    cells=cells,
                    is_exact=Field.LABELS in allowed,
                )
            elif (units := shown_scores.units(competition, row.score)) is not None:
                scale = shown_scores.scale(competition)
                result = SplitResult(scale.text(units), units, {}, (), (), scale, about=rules.about)
            else:
                continue
            results[row.submission_id][row.split] = result
    return results


def _cells(split: Split, allowed: Collection[Field], about: Description) -> tuple[str, ...]:
    """Return the visible values of a group: those of which terms are means, and the others."""
    terms, fields = {term.name for term in about.terms}, _CELLS[split]
    return tuple(each.name for each in about.cells if fields[each.name not in terms] in allowed)


def _exact(
    score: Score,
    rules: Rules,
    scale: Scale,
    decimals: int,
    *,
    has_terms: bool,
    has_groups: bool,
    cells: Sequence[str],
    is_exact: bool,
) -> SplitResult:
    about, scorer, units = rules.about, rules.scorer, scale.units(score.score)
    terms = shown_scores.rounded_terms(score.terms, rules.term_names, decimals) if has_terms else {}
    tables = group_tables.tables(score.groups, rules.form, about.direction) if has_groups else ()
    groups: Sequence[GroupLine] = ()
    if isinstance(scorer, Recounted):
        _, exact = scorer.recount(score.evidence) if has_groups else ({}, ())
        groups = [_shown(each) for each in exact]
        parts = scorer.loss_parts(terms, exact if is_exact else groups)
    else:
        parts = group_tables.loss_parts(tables, rules.form, about, terms)
    return SplitResult(
        score=scale.text(units),
        score_units=units,
        terms=terms,
        costs=term_costs(terms, about.terms),
        identities=tuple(
            IdentityRow(each.name, {cell: each.cells[cell] for cell in cells}) for each in groups
        ),
        scale=scale,
        errors=shown_scores.shown_errors(score.errors, terms),
        parts=parts,
        groups=tables,
        about=about,
    )


def _shown(group: GroupLine) -> GroupLine:
    return replace(group, cells={name: order.rounded_cell(each) for name, each in group.cells.items()})


class _Public(NamedTuple):
    """A file's public score as an entry, both exact and as the feedback mode displays it."""

    exact: TeamEntry
    shown: TeamEntry | None


def _public_scores(
    session: Session, submission: Submission, version: ScoringVersion
) -> tuple[list[_Public], _Public]:
    """Return the public scores of the team's earlier submissions, and of this one."""
    rows = session.execute(
        select(Submission.id, Submission.submitted_at, Score.score)
        .join(Score, Score.submission_id == Submission.id)
        .where(
            Submission.team_id == submission.team_id,
            Submission.kind.in_(shown_scores.KINDS) | (Submission.id == submission.id),
            Score.scoring_version_id == version.id,
            Score.split == Split.PUBLIC,
        )
        .order_by(Submission.submitted_at, Submission.id)
    )
    earlier: list[_Public] = []
    for submission_id, submitted_at, score in rows:
        exact = TeamEntry(submission.team_id, submission_id, version.scale.units(score), submitted_at)
        units = shown_scores.units(submission.competition, score)
        own = _Public(exact, None if units is None else replace(exact, score_units=units))
        if submission_id == submission.id:
            return earlier, own
        earlier.append(own)
    raise ValueError(f"Submission {submission.id} has no public score.")


def _late_rank(
    session: Session,
    submission: Submission,
    version: ScoringVersion,
    results: Mapping[Split, SplitResult],
    shown: TeamEntry | None,
) -> int | None:
    if submission.kind is not SubmissionKind.LATE:
        return None
    split, entry = Split.PUBLIC, shown
    if Split.PRIVATE in results:
        units = results[Split.PRIVATE].score_units
        split, entry = (
            Split.PRIVATE,
            TeamEntry(submission.team_id, submission.id, units, submission.submitted_at),
        )
    if entry is None:
        return None
    return Standings(session, version.id, split).rank_of(entry)


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
        results=split_results(
            session,
            submission=standing.submission,
            version=version,
            allowed=visible_fields(viewer, phase, competition.feedback),
        ),
    )
