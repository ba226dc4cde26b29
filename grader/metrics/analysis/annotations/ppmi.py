"""PPMI (positive pointwise mutual information) of identities and labels."""

import math
from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np

from grader.metrics.analysis.annotations.annotations import Annotations
from grader.metrics.analysis.matrix import Matrix

Unit = Literal["comments", "pairs"]
Counts = Mapping[tuple[str, str], int]


def ppmi(annotations: Annotations, unit: Unit = "comments") -> Matrix:
    r"""Say how much more often each identity and label meet than if they were independent.

    .. math:: PPMI = \max\left(0, \ln \frac{P(identity, label)}{P(identity) P(label)}\right)

    Parameters
    ----------
    annotations : Annotations
        Identities and labels are true from their thresholds on.
    unit : {"comments", "pairs"}
        What a probability is a share of. Of comments: each row is drawn once, whatever it mentions. Of
        pairs: each meeting of an identity and a label is drawn once, so that a comment counts as often as
        it mentions identities times the labels it has, and not at all without either.

    Returns
    -------
    Matrix
        In natural units, 0 where they meet less often than that or never; None where a probability of
        the denominator is 0.

    Notes
    -----
    Hann, Kalil and Payne, Figure 3, does not name its reading. Its values are those of pairs, in natural
    units: with comments, ``heterosexual`` and ``toxicity`` could not print 0 where 24 % of the comments
    are toxic against 8 % overall, and in bits the shares of the labels would exceed 1.

    Examples
    --------
    >>> annotations = Annotations.of({"toxic": [1, 1, 0, 0]}, {"cat": [1, 0, 0, 0], "dog": [0, 1, 1, 0]})
    >>> print(ppmi(annotations))
    identity     toxic
    cat          0.693
    dog          0.000
    >>> print(ppmi(annotations, "pairs"))
    identity     toxic
    cat          0.000
    dog          0.000
    """
    if unit not in get_args(Unit):
        raise ValueError(f'`unit` must be "comments" or "pairs", not {unit!r}.')
    return _of_comments(annotations) if unit == "comments" else ppmi_of_counts(_meetings(annotations))


def ppmi_of_counts(counts: Counts) -> Matrix:
    """Return the PPMI of pairs from the number of meetings of each identity and label.

    Parameters
    ----------
    counts : mapping of (str, str) to int
        By identity and label; every identity has every label.

    Returns
    -------
    Matrix
        As of `ppmi`.
    """
    identities = dict.fromkeys(identity for identity, _ in counts)
    labels = dict.fromkeys(label for _, label in counts)
    of_identity = {each: sum(counts[each, label] for label in labels) for each in identities}
    of_label = {each: sum(counts[identity, each] for identity in identities) for each in labels}
    total = sum(of_identity.values())

    def value_or_reason(identity: str, label: str) -> float | str:
        if not of_identity[identity]:
            return "no row mentions the identity and has a label."
        if not of_label[label]:
            return "no row has the label and mentions an identity."
        return _positive_log(counts[identity, label] * total, of_identity[identity] * of_label[label])

    return Matrix.of("ppmi_pairs", identities, labels, value_or_reason)


def _of_comments(annotations: Annotations) -> Matrix:
    members, positive = annotations.members, annotations.positive

    def value_or_reason(identity: str, label: str) -> float | str:
        kept = annotations.considered[identity] & annotations.labelled[label]
        mentions, has = members[identity] & kept, positive[label] & kept
        mentioning, having = int(mentions.sum()), int(has.sum())
        if not mentioning or not having:
            return "no row mentions the identity." if not mentioning else "no row has the label."
        both = int(np.count_nonzero(mentions & has))
        return _positive_log(both * int(kept.sum()), mentioning * having)

    return Matrix.of("ppmi_comments", members, positive, value_or_reason)


def _meetings(annotations: Annotations) -> Counts:
    return {
        (identity, label): int(np.count_nonzero(mentions & has))
        for identity, mentions in annotations.members.items()
        for label, has in annotations.positive.items()
    }


def _positive_log(observed: int, expected: int) -> float:
    """Return the logarithm of a ratio of integers, 0 below 1; the comparison and the ratio are exact."""
    return math.log(observed / expected) if observed > expected else 0.0
