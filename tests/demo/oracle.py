"""Independent demo leaderboard, computed from the files with pandas.

This module uses no code of `fairboard`, `grader.files` or `grader.ranking`. It follows the benchmark
kernel of the Jigsaw competition: one filter and one AUC for each identity and subset, and a plain power mean.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

POWER = -5.0
SELECTED_FOR_PRIVATE = 2
SCORE_STEP, TERM_STEP = Decimal("0.00001"), Decimal("0.0001")
Terms = tuple[float, float, float, float]


class Line(NamedTuple):
    """A leaderboard row with its displayed numbers."""

    rank: int
    team: str
    score: float
    overall_auc: float
    subgroup_auc: float
    bpsn_auc: float
    bnsp_auc: float


def leaderboards(solution: Path, entries: Sequence[tuple[str, Path]]) -> dict[str, list[Line]]:
    """Return both leaderboards of the teams' files; of files with equal scores, the earlier one ranks first.

    The public leaderboard contains the best file of each team. The private leaderboard contains the better of
    each team's two best files on the public leaderboard.
    """
    truth = pd.read_csv(solution)
    sent = [pd.read_csv(predictions) for _, predictions in entries]
    public, private = ([_terms(truth, file, usage) for file in sent] for usage in ("Public", "Private"))
    files = defaultdict(list)
    for at, (team, _) in enumerate(entries):
        files[team].append(at)
    selected = {team: _best_first(files[team], public)[:SELECTED_FOR_PRIVATE] for team in files}
    return {"public": _rank(entries, files, public), "private": _rank(entries, selected, private)}


def _rank(
    entries: Sequence[tuple[str, Path]], candidates: Mapping[str, list[int]], terms: Sequence[Terms]
) -> list[Line]:
    standing = _best_first([_best_first(files, terms)[0] for files in candidates.values()], terms)
    return [
        Line(rank, entries[at][0], _score(terms[at]), *(_round(term, TERM_STEP) for term in terms[at]))
        for rank, at in enumerate(standing, start=1)
    ]


def _best_first(files: list[int], terms: Sequence[Terms]) -> list[int]:
    return sorted(files, key=lambda at: (-_score(terms[at]), at))


def _score(terms: Terms) -> float:
    return _round(sum(terms) / 4, SCORE_STEP)


def _round(value: float, step: Decimal) -> float:
    return float(Decimal(value).quantize(step, rounding=ROUND_HALF_EVEN))


def _terms(truth: pd.DataFrame, sent: pd.DataFrame, usage: str) -> Terms:
    """Return overall AUC and the power means of Subgroup, BPSN and BNSP AUC."""
    identities = [name for name in truth.columns if name not in ("id", "target", "Usage")]
    rows = truth[truth["Usage"] == usage].merge(sent, on="id", how="left", validate="one_to_one")
    toxic, prediction = rows["target"] >= 0.5, rows["prediction"]

    def auc(kept: pd.Series) -> float:
        ranks, labels = prediction[kept].rank(), toxic[kept]
        positives, negatives = labels.sum(), (~labels).sum()
        return float((ranks[labels].sum() - positives * (positives + 1) / 2) / (positives * negatives))

    def power_mean(values: list[float]) -> float:
        return float(np.mean(np.asarray(values) ** POWER) ** (1 / POWER)) if all(values) else 0.0

    mentioned = [rows[name] >= 0.5 for name in identities]
    return (
        auc(pd.Series(True, index=rows.index)),
        power_mean([auc(each) for each in mentioned]),
        power_mean([auc((each & ~toxic) | (~each & toxic)) for each in mentioned]),
        power_mean([auc((each & toxic) | (~each & ~toxic)) for each in mentioned]),
    )
