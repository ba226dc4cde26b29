"""Standard errors of the score and its terms, computed without the influence of every row.

A variance is the sum of the squared influences of all rows (see `grader.metrics.analysis.influence`). The
place of a row is its doubled midrank among the positive rows, which determines its order relative to all rows
of the other class. Rows that mention no identity are only counted at each place. In the other rows, the
influences of all mentions are added up.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from grader.metrics.analysis.influence import mean_slopes
from grader.metrics.metric_settings import MetricSettings
from grader.metrics.pair_counting import Midranks
from grader.metrics.prepared import FloatArray, IndexArray, PreparedSplit
from grader.metrics.reports import BiasReport
from grader.metrics.subgroups import BIAS_AUCS, BiasAuc

# Smaller values are rounding errors of a variance of 0, such as that of a perfect submission.
_ZERO = 1e-15
# The tables of a block of identities have at most this number of entries per row of the split.
_TABLE_ENTRIES = 4
_ONE = np.uint32(1)  # a Python integer would make `numpy.add.at` slow
# The AUCs that compare the subgroup rows of a class with background rows, and its background rows with
# subgroup rows, for negative and positive rows.
_OF_SUBGROUP: tuple[BiasAuc, BiasAuc] = ("bpsn_auc", "bnsp_auc")
_OF_BACKGROUND: tuple[BiasAuc, BiasAuc] = ("bnsp_auc", "bpsn_auc")


@dataclass(frozen=True, eq=False)
class ClassMentions:
    """The mentions of scored identities in the rows of one class.

    Attributes
    ----------
    size, rows : int
        Number of rows in the class, and number of its rows with mentions.
    mentions : ndarray of int64, shape (mentions,)
        Positions in the `MentionLayout`: one mention of each row, then the other mentions. Both parts are
        grouped by identity, so that consecutive lookups use the same table.
    other_rows : ndarray of int64, shape (mentions - rows,)
        The row of each of the other mentions, as the position of the row's first mention.
    starts : ndarray of int64, shape (mentions,)
        The start of the table of each mention's identity within the tables of a block.
    sizes : ndarray of int64, shape (identities,)
        Number of mentions of each identity.
    groups : ndarray of int64, shape (2 * identities,)
        Number of mentions of each identity in the first part and in the second part.
    blocks : tuple of ndarray of int64 or slice
        The mentions of each block of identities.
    """

    size: int
    rows: int
    mentions: IndexArray
    other_rows: IndexArray
    starts: IndexArray
    sizes: IndexArray
    groups: IndexArray
    blocks: tuple[IndexArray | slice, ...]

    @classmethod
    def of(cls, split: PreparedSplit, *, label: bool, width: int, per_block: int) -> "ClassMentions":
        """Select the mentions of a class, for tables of the given width and number of identities."""
        layout, count = split.layout, sum(split.in_score)
        numbers = np.where(split.in_score, np.cumsum(split.in_score, dtype=np.int64) - 1, -1)
        number = numbers.repeat(layout.sizes)
        # Mentions in a layout are grouped by identity.
        chosen = np.flatnonzero((number >= 0) & (split.labels[layout.rows] == label))
        _, first, row_of = np.unique(layout.rows[chosen], return_index=True, return_inverse=True)
        is_first = np.zeros(chosen.size, np.bool_)
        is_first[first] = True
        position = np.cumsum(is_first) - 1
        parts = chosen[is_first], chosen[~is_first]
        mentions = np.concatenate(parts)
        identities = number[mentions]
        groups = np.concatenate([np.bincount(number[part], minlength=count) for part in parts])
        blocks = range(-(-count // per_block))
        return cls(
            size=split.positives if label else split.negatives,
            rows=first.size,
            mentions=mentions,
            other_rows=position[first[row_of[~is_first]]],
            starts=identities % per_block * width,
            sizes=groups[:count] + groups[count:],
            groups=groups,
            blocks=tuple(
                np.flatnonzero(identities // per_block == block) if len(blocks) > 1 else slice(None)
                for block in blocks
            ),
        )

    def by_mention(self, by_identity: FloatArray) -> FloatArray:
        """Repeat the value of each identity for its mentions."""
        return np.repeat(np.concatenate([by_identity, by_identity]), self.groups)

    def by_row(self, midranks: FloatArray, factors: FloatArray, constants: FloatArray) -> FloatArray:
        """Return the sum of ``factor * midrank - constant`` over the mentions of each row."""
        values = self.by_mention(factors)
        values *= midranks
        values -= self.by_mention(constants)
        sums = values[: self.rows]
        np.add.at(sums, self.other_rows, values[self.rows :])
        return sums


@dataclass(frozen=True, eq=False)
class ScoredMentions:
    """The mentions of scored identities on a split, prepared once for all submissions.

    Attributes
    ----------
    classes : tuple of two ClassMentions
        The mentions in negative and in positive rows.
    width : int
        Number of entries of an identity's table, which has one entry more than there are places.
    identities : tuple of slice
        The identities of each block.
    """

    classes: tuple[ClassMentions, ClassMentions]
    width: int
    identities: tuple[slice, ...]

    @classmethod
    def of(cls, split: PreparedSplit) -> "ScoredMentions":
        """Prepare the mentions of a split."""
        width, count = 2 * split.positives + 2, sum(split.in_score)
        per_block = max(1, _TABLE_ENTRIES * split.rows // width)
        negative, positive = (
            ClassMentions.of(split, label=label, width=width, per_block=per_block) for label in (False, True)
        )
        ends = [*range(0, count, per_block), count]
        return cls((negative, positive), width, tuple(slice(*each) for each in pairwise(ends)))


def standard_errors(
    mentions: ScoredMentions, midranks: Midranks, report: BiasReport, settings: MetricSettings
) -> dict[str, float]:
    """Return the nonzero standard errors of the score and its terms, to two significant digits.

    Parameters
    ----------
    mentions : ScoredMentions
        The mentions of the split.
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
    negative, positive = mentions.classes
    if min(negative.size, positive.size) < 2 or report.overall_auc is None:
        return {}
    lines = [line for line in report.subgroups if line.in_score]
    weights = settings.weights.as_dict()
    variances = dict.fromkeys(("score", *weights), 0.0)
    n0, n1 = negative.sizes, positive.sizes
    compared = {
        "subgroup_auc": (n1, n0),
        "bpsn_auc": (positive.size - n1, n0),
        "bnsp_auc": (n1, negative.size - n0),
    }
    terms: dict[BiasAuc, _Term] = {}
    for term in BIAS_AUCS:
        slopes = mean_slopes(report, term, settings)
        terms[term] = _Term(
            np.array([getattr(line, term) or 0.0 for line in lines], np.float64),
            np.array([slopes.get(line.name, 0.0) for line in lines], np.float64),
        )
        has_slope = np.array([line.name in slopes for line in lines], np.bool_)
        if not slopes or min(sizes[has_slope].min() for sizes in compared[term]) < 2:
            del variances[term]
            if weights[term]:
                variances.pop("score", None)
    places = [midranks.mentions[each.mentions].astype(np.int64) for each in mentions.classes]
    sums = _Sums(mentions, places, terms, weights, report.overall_auc)
    for label, (counts, below) in enumerate(_by_place(midranks, negative.size, positive.size)):
        for name, squares in sums.of_class(label, counts, below).items():
            if name in variances:
                variances[name] += squares
    errors = {name: math.sqrt(variance) for name, variance in variances.items()}
    return {name: float(f"{error:.2g}") for name, error in errors.items() if error > _ZERO}


def _by_place(midranks: Midranks, negatives: int, positives: int) -> list[tuple[IndexArray, IndexArray]]:
    """Return, for each class, the number of rows and their doubled midrank in the other class, by place."""
    at = midranks.positives
    of_positive = np.bincount(at, minlength=2 * positives + 1)
    below_positive, of_negative = np.zeros_like(of_positive), np.zeros_like(of_positive)
    below_positive[at] = midranks.positives_among_negatives
    of_negative[at] = midranks.tied_negatives
    steps = np.flatnonzero(of_positive > 0)
    tied = of_negative[steps]
    up_to = (below_positive[steps] + tied) >> 1
    between = up_to - tied
    between[1:] -= up_to[:-1]
    of_negative[steps - of_positive[steps]] = between
    of_negative[-1] = negatives - up_to[-1]
    return [(of_negative, np.arange(of_negative.size)), (of_positive, below_positive)]


@dataclass(frozen=True, eq=False)
class _Term:
    """An AUC of each identity, with the derivatives of its power mean."""

    aucs: FloatArray
    slopes: FloatArray

    def influence(
        self, label: int, size: IndexArray | int, compared: IndexArray | int
    ) -> tuple[FloatArray, FloatArray]:
        """Return a factor of the doubled midranks of a class, and the constant to subtract, by identity.

        `size` is the number of rows in the set, and `compared` is the number of rows of the other class.
        """
        at_least_2 = np.maximum(size, 2)
        height = (2 * label - 1) * self.slopes / np.sqrt(at_least_2 * (at_least_2 - 1.0))
        return height / (2 * np.maximum(compared, 1)), height * (self.aucs if label else 1 - self.aucs)


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums of squared influences for one submission.

    Attributes
    ----------
    mentions : ScoredMentions
    places : sequence of ndarray of int64
        The places of the mentions of each class.
    terms : mapping of BiasAuc to _Term
    weights : mapping of str to float
        The weights of the four terms.
    overall_auc : float
    """

    mentions: ScoredMentions
    places: Sequence[IndexArray]
    terms: Mapping[BiasAuc, _Term]
    weights: Mapping[str, float]
    overall_auc: float

    def of_class(self, label: int, counts: IndexArray, below: IndexArray) -> dict[str, float]:
        """Return the sums over the rows of a class for the score and its terms."""
        own, other = self.mentions.classes[label], self.mentions.classes[1 - label]
        places = self.places[label]
        of_subgroup, of_background = _OF_SUBGROUP[label], _OF_BACKGROUND[label]
        factors, constants = self.terms[of_background].influence(label, own.size - own.sizes, other.sizes)
        inside, at_places = self._in_subgroups(label, factors)
        at_places -= constants.sum()
        at_rows = at_places.take(places[: own.rows])
        # Subgroup rows are not part of the background.
        at_rows -= own.by_row(inside, factors, constants)
        factors, constants = self.terms["subgroup_auc"].influence(label, own.sizes, other.sizes)
        within = own.by_row(inside, factors, constants)
        factors, constants = self.terms[of_subgroup].influence(label, own.sizes, other.size - other.sizes)
        outside = np.subtract(below.take(places) if label else places, inside, out=inside)
        across = own.by_row(outside, factors, constants)
        overall = _Term(np.array([self.overall_auc]), np.ones(1))
        [factor], [constant] = overall.influence(label, own.size, other.size)
        overall_at_places = factor * below - constant
        weights = self.weights
        score_at_places = weights["overall_auc"] * overall_at_places + weights[of_background] * at_places
        score_at_rows = weights["overall_auc"] * overall_at_places.take(places[: own.rows])
        score_at_rows += weights["subgroup_auc"] * within
        score_at_rows += weights[of_subgroup] * across
        score_at_rows += weights[of_background] * at_rows
        others = counts - np.bincount(places[: own.rows], minlength=counts.size)
        return {
            "score": _squares(score_at_rows) + _squares(score_at_places, others),
            "overall_auc": _squares(overall_at_places, counts),
            "subgroup_auc": _squares(within),
            of_subgroup: _squares(across),
            of_background: _squares(at_rows) + _squares(at_places, others),
        }

    def _in_subgroups(self, label: int, factors: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return doubled midranks among the rows of the other class in a subgroup.

        The first array contains the midrank of each mention in its own subgroup. The second array contains,
        for each place, the sum over all subgroups, weighted by the factors.
        """
        own, other = self.mentions.classes[label], self.mentions.classes[1 - label]
        width = self.mentions.width
        inside, weighted = np.empty(own.mentions.size), np.zeros(width)
        for identities, mine, theirs in zip(self.mentions.identities, own.blocks, other.blocks, strict=True):
            # Entry p of a table is the number of rows below place p, and the next entry is the number of rows
            # at or below it.
            table = np.zeros((identities.stop - identities.start) * width, np.uint32)
            np.add.at(table[1:], other.starts[theirs] + self.places[1 - label][theirs], _ONE)
            by_identity = table.reshape(-1, width)
            np.cumsum(by_identity, axis=1, dtype=np.uint32, out=by_identity)
            at = own.starts[mine] + self.places[label][mine]
            inside[mine] = table.take(at) + table[1:].take(at)
            weighted += factors[identities] @ by_identity.astype(np.float64)
        return inside, weighted[:-1] + weighted[1:]


def _squares(values: FloatArray, counts: IndexArray | None = None) -> float:
    """Return the sum of squares, each multiplied by its count."""
    return float(values @ values if counts is None else values**2 @ counts)
