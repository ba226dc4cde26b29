"""The exact pair counts behind every AUC and AEG of some rows, whatever the background is."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from grader.metrics.analysis.rows import Rows
from grader.metrics.auc import Comparison
from grader.metrics.counting import count_pairs
from grader.metrics.prepared import BoolArray, PreparedSplit
from grader.metrics.subgroups import Cell, comparisons, overall_comparison


@dataclass(frozen=True, slots=True)
class Counted:
    """The comparisons of some rows.

    Attributes
    ----------
    overall : Comparison
        All positive against all negative rows; the background does not matter to it.
    cells : mapping of str to mapping of Cell to Comparison
        For each identity, the five comparisons by name.
    """

    overall: Comparison
    cells: Mapping[str, Mapping[Cell, Comparison]]


def count(rows: Rows) -> Counted:
    """Count the pairs of all comparisons, as exact integers.

    Parameters
    ----------
    rows : Rows
        Identities with the same blanks are counted together, in one sort.

    Returns
    -------
    Counted
        The same integers in any order of the rows.
    """
    cells: dict[str, Mapping[Cell, Comparison]] = {}
    for names, considered in _considered_together(rows):
        counts = count_pairs(_split(rows.only(names).where(considered)), rows.predictions[considered])
        for identity in counts.identities:
            cells[identity.name] = comparisons(counts, identity)
    overall = overall_comparison(count_pairs(_split(rows.only(())), rows.predictions))
    return Counted(overall, {name: cells[name] for name in rows.names})


def _considered_together(rows: Rows) -> Iterator[tuple[list[str], BoolArray]]:
    """Yield the identities that are compared on the same rows, with those rows."""
    together: dict[bytes, list[str]] = {}
    for name in rows.names:
        together.setdefault(np.packbits(rows.considered(name)).tobytes(), []).append(name)
    for names in together.values():
        yield names, rows.considered(names[0])


def _split(rows: Rows) -> PreparedSplit:
    return PreparedSplit(
        labels=rows.positive,
        names=rows.names,
        in_score=(True,) * len(rows.names),
        members=tuple(np.flatnonzero(mentions) for mentions in rows.members.values()),
    )
