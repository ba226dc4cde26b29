"""Counts for a solution: rows per AUC, blanks, near-threshold values, overlaps."""

import numpy as np

from grader.metrics import prepare
from grader.metrics.bias.anatomy import count_cells, near_threshold, overlaps, unannotated

LABELS = np.array([1, 1, 1, 0, 0, 0], bool)


def test_rows_of_an_identity_are_counted_by_class():
    [cell] = count_cells(prepare(LABELS, {"a": [1, 1, 0, 1, 0, 0]}))
    assert (cell.name, cell.positives, cell.negatives) == ("a", 2, 1)


def test_row_is_unannotated_if_every_identity_is_blank():
    blank = np.nan
    identities = {"a": np.array([blank, blank, 0.0]), "b": np.array([blank, 1.0, blank])}
    assert unannotated(identities, 3).tolist() == [True, False, False]
    assert unannotated({}, 2).tolist() == [True, True]


def test_values_at_and_just_below_the_threshold_are_distinguished():
    found = near_threshold(np.array([0.5, 0.49999999999999994, 0.4, 0.6, np.nan, 0.5]), 0.5)
    assert (found.at, found.just_below) == (2, 1)
    assert found.largest_below == 0.49999999999999994
    assert near_threshold(np.array([1.0, np.nan]), 0.5).largest_below is None


def test_overlaps_are_shares_of_the_smaller_identity():
    rows = 200_000  # More rows than one block of the multiplication has.
    number = np.arange(rows)
    members = {"even": number % 2 == 0, "fourth": number % 4 == 0, "odd": number % 2 == 1}
    [found] = overlaps(members, least_share=0.5)
    assert (found.smaller, found.larger, found.rows, found.share) == ("fourth", "even", rows // 4, 1.0)
    assert overlaps({}, least_share=0.5) == ()
