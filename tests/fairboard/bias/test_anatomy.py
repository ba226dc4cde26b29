"""Counts for a solution: rows per AUC and blank annotations."""

import numpy as np

from fairboard import prepare
from fairboard.bias.anatomy import count_cells, unannotated

LABELS = np.array([1, 1, 1, 0, 0, 0], bool)


def test_rows_of_an_identity_are_counted_by_class():
    [cell] = count_cells(prepare(LABELS, {"a": [1, 1, 0, 1, 0, 0]}))
    assert (cell.name, cell.positives, cell.negatives) == ("a", 2, 1)


def test_row_is_unannotated_if_every_identity_is_blank():
    blank = np.nan
    identities = {"a": np.array([blank, blank, 0.0]), "b": np.array([blank, 1.0, blank])}
    assert unannotated(identities, 3).tolist() == [True, False, False]
    assert unannotated({}, 2).tolist() == [True, True]
