"""Standard errors of the score and its terms, computed without the influence of every row.

A variance is the sum of the squared influences of all rows (see `grader.metrics.bias.analysis.influence`).
The place of a row is its doubled midrank among the positive rows, which determines its order relative to all
rows of the other class. Rows that mention no identity are only counted at each place. In the other rows, the
influences of all mentions are added up.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from grader.metrics.bias.analysis.influence import mean_slopes
from grader.metrics.bias.metric_settings import MetricSettings
from grader.metrics.bias.pair_counting import Midranks
from grader.metrics.bias.prepared import FloatArray, IndexArray, PreparedSplit
from grader.metrics.bias.reports import BiasReport
from grader.metrics.bias.subgroups import BIAS_AUCS, BiasAuc

# Smaller values are rounding errors of a variance of 0, such as that of a perfect submission.
_ZERO = 1e-15
# The AUCs that compare the subgroup rows of a class with background rows, and its background rows with
# subgroup rows, for negative and positive rows.
_OF_SUBGROUP: tuple[BiasAuc, BiasAuc] = ("bpsn_auc", "bnsp_auc")
_OF_BACKGROUND: tuple[BiasAuc, BiasAuc] = ("bnsp_auc", "bpsn_auc")


@dataclass(frozen=True, eq=False)
class ClassMentions:
    """The mentions of scored identities in the rows of one class, grouped by identity.

    Attributes
    ----------
    size : int
        Number of rows in the class.
    mentions : ndarray of int64, shape (mentions,)
        Position of each mention in the `MentionLayout`.
    first : ndarray of int64, shape (rows with mentions,)
        The first mention of each row.
    others, other_rows : ndarray of int64, shape (mentions - rows with mentions,)
        The other mentions, and their rows as positions in `first`.
    sizes : ndarray of int64, shape (identities,)
        Number of mentions of each identity.
    """

    size: int
    mentions: IndexArray
    first: IndexArray
    others: IndexArray
    other_rows: IndexArray
    sizes: IndexArray

    @classmethod
    def both(cls, split: PreparedSplit) -> tuple["ClassMentions", "ClassMentions"]:
        """Select the mentions in the negative and in the positive rows of a split."""
        return cls._of(split, label=False), cls._of(split, label=True)

    @classmethod
    def _of(cls, split: PreparedSplit, *, label: bool) -> "ClassMentions":
        layout, in_score = split.layout, np.array(split.in_score, np.bool_)
        is_scored = in_score.repeat(layout.sizes)
        mentions = np.flatnonzero(is_scored & (split.labels[layout.rows] == label))
        _, first, row_of = np.unique(layout.rows[mentions], return_index=True, return_inverse=True)
        sizes = layout.positives if label else layout.sizes - layout.positives
        size = split.positives if label else split.negatives
        others = np.setdiff1d(np.arange(mentions.size), first)
        return cls(size, mentions, first, others, row_of[others], sizes[in_score])

    def by_identity(self, values: IndexArray) -> list[IndexArray]:
        """Split values by mention into those of each identity."""
        return np.split(values, self.sizes.cumsum())[:-1]

    def by_row(self, midranks: FloatArray, factors: FloatArray, constants: FloatArray) -> FloatArray:
        """Return the sum of ``factor * midrank - constant`` over the mentions of each row."""
        values = np.repeat(factors, self.sizes)
        values *= midranks
        values -= np.repeat(constants, self.sizes)
        sums = values[self.first]
        np.add.at(sums, self.other_rows, values[self.others])
        return sums


def standard_errors(
    classes: tuple[ClassMentions, ClassMentions],
    midranks: Midranks,
    report: BiasReport,
    settings: MetricSettings,
) -> dict[str, float]:
    """Return the nonzero standard errors of the score and its terms, to two significant digits.

    Parameters
    ----------
    classes : tuple of two ClassMentions
        The mentions of the split, from `ClassMentions.both`.
    midranks : Midranks
        The midranks of the submission on the split.
    report : BiasReport
        The report for the same submission on the same split.
    settings : MetricSettings
        The settings of the report.

    Returns
    -------
    dict of str to float
        The errors. Undefined values, and values that compare a set of fewer than 2 rows, have none.
    """
    negatives, positives = classes[0].size, classes[1].size
    if min(negatives, positives) < 2 or report.overall_auc is None:
        return {}
    n0, n1 = classes[0].sizes, classes[1].sizes
    sizes: dict[BiasAuc, tuple[IndexArray, IndexArray]] = {
        "subgroup_auc": (n0, n1),
        "bpsn_auc": (n0, positives - n1),
        "bnsp_auc": (negatives - n0, n1),
    }
    weights = settings.weights.as_dict()
    variances = dict.fromkeys(("score", *weights), 0.0)
    overall = np.array([report.overall_auc]), np.ones(1), (np.array([negatives]), np.array([positives]))
    terms = {"overall_auc": _Term(*overall)}
    lines = [line for line in report.subgroups if line.in_score]
    for term in BIAS_AUCS:
        slopes = mean_slopes(report, term, settings)
        aucs = np.array([getattr(line, term) or 0.0 for line in lines], np.float64)
        by_line = np.array([slopes.get(line.name, 0.0) for line in lines], np.float64)
        terms[term] = _Term(aucs, by_line, sizes[term])
        has_slope = [line.name in slopes for line in lines]
        if not slopes or min(each[has_slope].min() for each in sizes[term]) < 2:
            del variances[term]
            if weights[term]:
                variances.pop("score", None)
    places = [midranks.mentions[each.mentions] for each in classes]
    for label, (counts, below) in enumerate(_by_place(midranks, negatives, positives)):
        sums = _squared_influences(label, classes, places, terms, weights, counts, below)
        for name in variances:
            variances[name] += sums[name]
    errors = {name: math.sqrt(variance) for name, variance in variances.items()}
    return {name: float(f"{error:.2g}") for name, error in errors.items() if error > _ZERO}


def _by_place(midranks: Midranks, negatives: int, positives: int) -> list[tuple[IndexArray, IndexArray]]:
    """Return, for each class, the number of rows and their doubled midrank in the other class, by place."""
    at, below = midranks.positives, midranks.positives_among_negatives
    of_positive = np.bincount(at, minlength=2 * positives + 1)
    below_positive, up_to = np.zeros_like(of_positive), np.zeros_like(of_positive)
    below_positive[at] = below
    # Negative rows directly below tied positive rows are at the place of these rows minus their number.
    up_to[at - of_positive[at]] = (below - midranks.tied_negatives) >> 1
    up_to[at] = (below + midranks.tied_negatives) >> 1
    up_to[-1] = negatives
    of_negative = np.diff(np.maximum.accumulate(up_to), prepend=0)
    return [(of_negative, np.arange(of_negative.size)), (of_positive, below_positive)]


@dataclass(frozen=True, eq=False)
class _Term:
    """An AUC of each identity, with the derivatives of its power mean and its numbers of rows by class."""

    aucs: FloatArray
    slopes: FloatArray
    sizes: tuple[IndexArray, IndexArray]

    def influence(self, label: int) -> tuple[FloatArray, FloatArray]:
        """Return a factor of the doubled midranks of a class, and the constant to subtract, by identity."""
        size = np.maximum(self.sizes[label], 2)
        height = (2 * label - 1) * self.slopes / np.sqrt(size * (size - 1.0))
        compared = np.maximum(self.sizes[1 - label], 1)
        return height / (2 * compared), height * (self.aucs if label else 1 - self.aucs)


def _squared_influences(
    label: int,
    classes: Sequence[ClassMentions],
    places: Sequence[IndexArray],
    terms: Mapping[str, _Term],
    weights: Mapping[str, float],
    counts: IndexArray,
    below: IndexArray,
) -> dict[str, float]:
    """Return the sums of the squared influences of a class on the score and its terms."""
    own, of_subgroup, of_background = classes[label], _OF_SUBGROUP[label], _OF_BACKGROUND[label]
    influence = {term: each.influence(label) for term, each in terms.items()}
    factors, constants = influence[of_background]
    mine, theirs = (classes[each].by_identity(places[each]) for each in (label, 1 - label))
    inside, in_subgroups = _in_subgroups(mine, theirs, factors, width=below.size)
    at_places = {
        "overall_auc": influence["overall_auc"][0] * below - influence["overall_auc"][1],
        of_background: in_subgroups - constants.sum(),
    }
    rows = places[label][own.first]
    at_rows = {
        "overall_auc": at_places["overall_auc"][rows],
        "subgroup_auc": own.by_row(inside, *influence["subgroup_auc"]),
        of_subgroup: own.by_row(below[places[label]] - inside, *influence[of_subgroup]),
        # Subgroup rows are not part of the background.
        of_background: at_places[of_background][rows] - own.by_row(inside, factors, constants),
    }
    for influences in (at_rows, at_places):
        influences["score"] = sum(weights[term] * each for term, each in influences.items())
    others = np.subtract(counts, np.bincount(rows, minlength=counts.size), dtype=np.float64)
    sums = {name: float(each @ each) for name, each in at_rows.items()}
    for name, each in at_places.items():
        sums[name] += float(each**2 @ others)
    return sums


def _in_subgroups(
    own: Sequence[IndexArray], other: Sequence[IndexArray], factors: FloatArray, *, width: int
) -> tuple[FloatArray, FloatArray]:
    """Return doubled midranks among the rows of the other class in a subgroup.

    The first array contains the midrank of each mention in its own subgroup. The second array contains, for
    each place, the sum over all subgroups, weighted by the factors.
    """
    inside, weighted = [np.empty(0)], np.zeros(width + 1)
    for factor, mine, theirs in zip(factors, own, other, strict=True):
        # Entry p is the number of rows below place p, and the next entry also counts the rows at it.
        below = np.zeros(width + 1)
        below[1:] = np.bincount(theirs, minlength=width).cumsum()
        inside.append(below[mine] + below[1:][mine])
        weighted += factor * below
    return np.concatenate(inside), weighted[:-1] + weighted[1:]
