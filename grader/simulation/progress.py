"""Honest teams in each mode: how much of what they gain they see, and how true the board is."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grader.feedback import Rule, ScoredFile, paired_error, show
from grader.simulation.competitions import Competition, FloatArray
from grader.simulation.models import Honest

TEAMS = 50
_FEWEST, _MOST = 8, 30
_BEYOND = 2.0


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of an honest team: what its model is worth in truth, and what it scored."""

    truth: float
    file: ScoredFile


@dataclass(frozen=True, slots=True)
class Seen:
    """What honest teams of one competition see in a mode.

    Attributes
    ----------
    improvements, seen : int
        Files that are better in truth than all before of the team, and those shown as a new best.
    clear, clear_seen : int
        The same of improvements beyond two standard errors of the paired difference.
    others, false : int
        Files that are no better in truth, and those shown as a new best.
    correlation : float
        Of the teams' best shown scores with what their best models are worth, by rank.
    """

    improvements: int
    seen: int
    clear: int
    clear_seen: int
    others: int
    false: int
    correlation: float


def teams(competition: Competition, honest: Honest, *, count: int, seed: int) -> list[list[Entry]]:
    """Let teams of differing strength send 8 to 30 files each."""
    rng = np.random.default_rng([16, seed])
    return [
        [
            Entry(honest.truth(model.variance), competition.score(honest.predictions(model)).file)
            for model in honest.progress(rng, int(rng.integers(_FEWEST, _MOST + 1)))
        ]
        for _ in range(count)
    ]


def seen(entries: Sequence[Sequence[Entry]], rule: Rule) -> Seen:
    """Count what teams see under a rule."""
    counts: Counter[str | tuple[str, bool]] = Counter()
    board, worth = [], []
    for files in entries:
        shown = show([entry.file for entry in files], rule)
        most, best = -1 if shown[0] is None else shown[0], files[0]
        for entry, units in zip(files[1:], shown[1:], strict=True):
            is_news = units is not None and units > most
            most = max(most, -1 if units is None else units)
            kind = "improvements" if entry.truth > best.truth else "others"
            counts[kind] += 1
            counts[kind, is_news] += 1
            if kind == "improvements":
                if _is_clear(entry, best):
                    counts["clear"] += 1
                    counts["clear", is_news] += 1
                best = entry
        board.append(most)
        worth.append(best.truth)
    return Seen(
        improvements=counts["improvements"],
        seen=counts["improvements", True],
        clear=counts["clear"],
        clear_seen=counts["clear", True],
        others=counts["others"],
        false=counts["others", True],
        correlation=rank_correlation(board, worth),
    )


def _is_clear(entry: Entry, best: Entry) -> bool:
    if entry.file.basis is None or best.file.basis is None:
        return False
    error = paired_error(entry.file.basis, best.file.basis)
    return error is not None and entry.truth - best.truth > _BEYOND * error


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Return Spearman's correlation: equal values share a rank, and a constant correlates with nothing."""
    ranks = [_middle_ranks(np.asarray(values, np.float64)) for values in (one, other)]
    centered = [each - each.mean() for each in ranks]
    size = float(np.sqrt((centered[0] ** 2).sum() * (centered[1] ** 2).sum()))
    return float(centered[0] @ centered[1]) / size if size else 0.0


def _middle_ranks(values: FloatArray) -> FloatArray:
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: FloatArray = (ends - (counts - 1) / 2)[places]
    return ranks
