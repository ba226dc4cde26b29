"""Independent demo leaderboard, computed from the files with pandas.

This module uses no code of `fairboard`, `grader.files` or `grader.ranking`. It follows the benchmark
kernel of the Jigsaw competition: one filter and one AUC for each identity and subset, and a plain power mean.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

POWER = -5.0
SELECTED_FOR_PRIVATE = 2
SCORE_STEP, TERM_STEP = Decimal("0.00001"), Decimal("0.0001")
Split = Literal["public", "private"]
Terms = tuple[float, float, float, float]


class Line(NamedTuple):
    """A leaderboard row with its displayed numbers."""

    rank: int
    team: str
    score: Decimal
    overall_auc: Decimal
    subgroup_auc: Decimal
    bpsn_auc: Decimal
    bnsp_auc: Decimal


def leaderboards(solution: Path, entries: Sequence[tuple[str, Path]]) -> dict[Split, list[Line]]:
    """Return both leaderboards of the teams' files; of files with equal scores, the earlier one ranks first.

    The public leaderboard contains the best file of each team. The private leaderboard contains the better of
    each team's two best files on the public leaderboard.
    """
    truth = pd.read_csv(solution)
    sent = [pd.read_csv(predictions) for _, predictions in entries]
    public = [_terms(truth, file, "public") for file in sent]
    private = [_terms(truth, file, "private") for file in sent]
    files = defaultdict(list)
    for at, (team, _) in enumerate(entries):
        files[team].append(at)
    selected = {team: _best_first(files[team], public)[:SELECTED_FOR_PRIVATE] for team in files}
    return {"public": _rank(entries, files, public), "private": _rank(entries, selected, private)}


def _rank(
    entries: Sequence[tuple[str, Path]], candidates: Mapping[str, list[int]], terms: Sequence[Terms]
) -> list[Line]:
    standing = [_best_first(files, terms)[0] for files in candidates.values()]
    return [
        Line(rank, entries[at][0], _score(terms[at]), *(_round(term, TERM_STEP) for term in terms[at]))
        for rank, at in enumerate(_best_first(standing, terms), start=1)
    ]


def _best_first(files: list[int], terms: Sequence[Terms]) -> list[int]:
    return sorted(files, key=lambda at: (-_score(terms[at]), at))


def _score(terms: Terms) -> Decimal:
    return _round(sum(terms) / 4, SCORE_STEP)


def _round(value: float, step: Decimal) -> Decimal:
    return Decimal(value).quantize(step, rounding=ROUND_HALF_EVEN)


def _terms(truth: pd.DataFrame, sent: pd.DataFrame, split: Split) -> Terms:
    """Return overall AUC and the power means of Subgroup, BPSN and BNSP AUC."""
    identities = [name for name in truth.columns if name not in ("id", "target", "Usage")]
    rows = truth[truth["Usage"] == split.capitalize()].merge(sent, on="id", how="left", validate="one_to_one")
    toxic, prediction = rows["target"] >= 0.5, rows["prediction"]

    def auc(kept: pd.Series) -> float:
        ranks, labels = prediction[kept].rank(), toxic[kept]
        positives, negatives = labels.sum(), (~labels).sum()
        return float((ranks[labels].sum() - positives * (positives + 1) / 2) / (positives * negatives))

    subgroup, bpsn, bnsp = [], [], []
    for name in identities:
        mentioned = rows[name] >= 0.5
        subgroup.append(auc(mentioned))
        bpsn.append(auc((mentioned & ~toxic) | (~mentioned & toxic)))
        bnsp.append(auc((mentioned & toxic) | (~mentioned & ~toxic)))
    overall = auc(pd.Series(True, index=rows.index))
    return overall, _power_mean(subgroup), _power_mean(bpsn), _power_mean(bnsp)


def _power_mean(values: list[float]) -> float:
    if 0 in values:
        return 0.0
    return float(np.mean(np.asarray(values) ** POWER) ** (1 / POWER))
