"""Pair counts of analysis rows and of the score, with either background."""

import numpy as np
import pytest

from fairboard import count_pairs, prepare
from fairboard.bias.analysis import Rows
from fairboard.bias.analysis.rows import count
from fairboard.bias.subgroups import comparisons, overall_comparison


def draw(seed, size=300):
    rng = np.random.default_rng(seed)
    blank_everywhere = rng.random(size) < 0.3
    identities = {}
    for name in ("cat", "dog", "cow"):
        values = rng.integers(0, 2, size).astype(float)
        values[blank_everywhere] = np.nan
        identities[name] = values
    # This identity has additional blanks of its own.
    identities["cow"][rng.random(size) < 0.2] = np.nan
    return rng.integers(0, 2, size), rng.integers(0, 20, size), identities


def brute(first, second):
    wins = (first[:, None] > second[None, :]).sum() * 2 + (first[:, None] == second[None, :]).sum()
    return (wins, first.size, second.size)


@pytest.mark.parametrize("seed", range(3))
def test_counts_with_background_all_equal_those_of_the_score(seed):
    labels, predictions, identities = draw(seed)
    counts = count_pairs(prepare(labels, identities), predictions)
    counted = count(Rows.of(labels, predictions, identities))
    assert counted.overall == overall_comparison(counts)
    for identity in counts.identities:
        assert counted.cells[identity.name] == comparisons(counts, identity)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("background", ["all", "annotated"])
def test_counts_equal_a_comparison_of_every_pair(seed, background):
    rows = Rows.of(*draw(seed), background=background)
    counted = count(rows)
    for name in rows.names:
        inside, outside = rows.members[name], rows.background_of(name)
        of = {
            "p": rows.predictions[inside & rows.positive],
            "n": rows.predictions[inside & ~rows.positive],
            "P": rows.predictions[outside & rows.positive],
            "N": rows.predictions[outside & ~rows.positive],
        }
        pairs = {
            "subgroup_auc": "pn",
            "bpsn_auc": "Pn",
            "bnsp_auc": "pN",
            "positive_aeg": "Pp",
            "negative_aeg": "Nn",
        }
        for cell, (first, second) in pairs.items():
            assert tuple(counted.cells[name][cell]) == brute(of[first], of[second])
        assert tuple(counted.backgrounds[name]) == brute(of["P"], of["N"])


def test_annotated_background_equals_removal_of_unannotated_rows():
    labels, predictions, identities = draw(7)
    del identities["cow"]
    kept = ~np.isnan(identities["cat"])
    annotated = count(Rows.of(labels, predictions, identities, background="annotated"))
    thrown_away = count(Rows.of(labels, predictions, identities).where(kept))
    assert annotated.cells == thrown_away.cells
    assert annotated.overall != thrown_away.overall


@pytest.mark.parametrize("background", ["all", "annotated"])
def test_only_the_kept_rows_are_counted(background):
    rows = Rows.of(*draw(8), background=background)
    kept = np.arange(rows.size) % 3 > 0
    assert count(rows, kept) == count(rows.where(kept))


def test_rows_without_identities_have_only_an_overall_comparison():
    counted = count(Rows.of([1, 0], [0.9, 0.1], {}))
    assert counted.overall.auc == 1
    assert counted.cells == {}
