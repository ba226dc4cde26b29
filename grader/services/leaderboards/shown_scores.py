"""Ranked submissions and their displayed public scores."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session, aliased

from grader.metrics.boards import BoardRule
from grader.models import (
    Competition,
    Score,
    ScoringVersion,
    Split,
    Submission,
    SubmissionKind,
    SubmissionStatus,
    Team,
)
from grader.ranking.order import Scale
from grader.ranking.selection import Scored
from grader.services.competitions import boards
from grader.visibility import Feedback

# The score, the terms and the groups of a submission on one split.
Values = Sequence[Any]
# The kinds of files that a team submits as a participant.
KINDS = (SubmissionKind.NORMAL, SubmissionKind.LATE)


def units(competition: Competition, score: float, own: Scale | None = None) -> int | None:
    """Return the units of the public score as the feedback mode displays it; None if hidden.

    `own` is the scale of the scoring version, by default that of the live one.
    """
    own = own or competition.scale
    match competition.feedback:
        case Feedback.BLIND:
            return None
        case Feedback.TIERED:
            return own.band(own.units(score), float(competition.feedback_step))
        case _:
            return own.units(score)


def scale(competition: Competition, split: Split = Split.PUBLIC, own: Scale | None = None) -> Scale:
    """Return the scale of displayed scores; public ones have the decimals of the step, if there is one.

    `own` is the scale of the scoring version, by default that of the live one.
    """
    own = own or competition.scale
    if split is not Split.PUBLIC or competition.feedback is not Feedback.TIERED:
        return own
    return replace(own, shown_decimals=min(competition.feedback_step.decimals, own.decimals))


def rounded_terms(values: Mapping[str, float], names: Sequence[str], decimals: int) -> dict[str, float]:
    """Return rounded terms of a score in the given order; a term that the score does not have is left out."""
    # Like `order.round_half_even`, `round` rounds half to even on the exact value. Adding 0 removes a minus.
    return {name: round(values[name], decimals) + 0.0 for name in names if name in values}


def shown_errors(errors: Mapping[str, float] | None, terms: Collection[str]) -> dict[str, float]:
    """Return the standard errors of the score and these terms, to two digits."""
    shown = {name: error for name, error in (errors or {}).items() if name in ("score", *terms)}
    return {name: float(f"{error:.2g}") for name, error in shown.items()}


def _named(
    competition: Competition, rules: Iterable[BoardRule], public: Values, private: Values
) -> dict[str, tuple[int | None, int | None]]:
    """Return the units of a submission's public and private value on each named leaderboard.

    In the blind mode, there are no public leaderboards.
    """
    is_blind = competition.feedback is Feedback.BLIND
    return {
        rule.key: (None if is_blind else named_units(rule, public), named_units(rule, private))
        for rule in rules
    }


def named_units(rule: BoardRule, values: Values) -> int | None:
    """Return the units of a value on a named leaderboard, or None if it is undefined."""
    value = rule.value(*values)
    return None if value is None else boards.scale(rule).units(value)


def scored(
    session: Session,
    *,
    scoring_version_id: int,
    team_ids: Collection[int] | None = None,
    submission_ids: Collection[int] | None = None,
    kinds: Collection[SubmissionKind] = (SubmissionKind.NORMAL,),
) -> list[Scored]:
    """Return scored submissions of a scoring version, by default all, with their scores on both splits."""
    public, private = aliased(Score), aliased(Score)
    version = session.get_one(ScoringVersion, scoring_version_id)
    competition, own = session.get_one(Competition, version.competition_id), version.scale
    rules = boards.of(competition, version)
    values = [value for side in (public, private) for value in (side.terms, side.groups)] if rules else []
    query = (
        select(
            Submission.id,
            Submission.team_id,
            Submission.submitted_at,
            public.score,
            private.score,
            Submission.kind,
            Submission.is_selected,
            *values,
        )
        .join(public, public.submission_id == Submission.id)
        .join(private, private.submission_id == Submission.id)
        .where(
            Submission.competition_id == competition.id,
            public.scoring_version_id == scoring_version_id,
            public.split == Split.PUBLIC,
            private.scoring_version_id == scoring_version_id,
            private.split == Split.PRIVATE,
            Submission.kind.in_(kinds),
        )
    )
    if team_ids is not None:
        query = query.where(Submission.team_id.in_(team_ids))
    if submission_ids is not None:
        query = query.where(Submission.id.in_(submission_ids))
    return [
        Scored(
            submission_id,
            team_id,
            submitted_at,
            own.units(public),
            own.units(private),
            kind,
            is_selected,
            shown_units=units(competition, public, own),
            named=_named(competition, rules, (public, *more[:2]), (private, *more[2:])),
        )
        for submission_id, team_id, submitted_at, public, private, kind, is_selected, *more in (
            session.execute(query)
        )
    ]


def disqualified(session: Session, *, competition_id: int) -> set[int]:
    """Return the ids of the disqualified teams of a competition."""
    query = select(Team.id).where(Team.competition_id == competition_id, Team.disqualified_at.is_not(None))
    return set(session.scalars(query))


def selected(session: Session, *, team: Team) -> tuple[Submission, ...]:
    """Return the selected submissions of a team that can still compete, earliest first."""
    return tuple(
        session.scalars(
            select(Submission)
            .where(
                Submission.team_id == team.id,
                Submission.is_selected,
                Submission.kind == SubmissionKind.NORMAL,
                Submission.status != SubmissionStatus.REJECTED,
            )
            .order_by(Submission.submitted_at, Submission.id)
        )
    )
