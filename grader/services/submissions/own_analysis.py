"""Diagnosis of a team's own submission, computed from the rounded public table that the team can see."""

from dataclasses import dataclass

from grader.metrics.analysis.power_means import TermCost, diagnose
from grader.models import ScoringVersion
from grader.services.competitions.metric import Rules
from grader.services.leaderboards.submission_results import SplitResult


@dataclass(frozen=True, slots=True)
class _Line:
    """An identity and its displayed AUCs."""

    name: str
    subgroup_auc: float | None
    bpsn_auc: float | None
    bnsp_auc: float | None


def diagnosis(result: SplitResult | None, version: ScoringVersion) -> tuple[TermCost, ...]:
    """Return the terms sorted by cost, computed from displayed values; empty if they are hidden."""
    if result is None:
        return ()
    lines = [
        _Line(row.name, row.cells["subgroup_auc"], row.cells["bpsn_auc"], row.cells["bnsp_auc"])
        for row in result.identities
    ]
    return diagnose(result.terms, lines, Rules.from_dict(version.metric_settings).metric)
