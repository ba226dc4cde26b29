"""Counterfactual pairs and fuzzed sets."""

import numpy as np
import pandas as pd
import pytest

from fairboard import bias_report
from fairboard.bias.analysis import Data
from fairboard.bias.analysis.pairs import (
    COMBINED,
    fuzzed_terms,
    pair_rates,
    role_scores,
)

ROLES = ("anti", "pro")
LABELS = ("toxic", "insult")


def draw(seed, pairs=60):
    """Return the pairs, roles, groups and predictions of rows in random order."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"{number}", role, group)
        for number in range(pairs)
        for role, group in zip(ROLES, rng.permutation(["F", "M"]), strict=True)
    ]
    rng.shuffle(rows)
    names, roles, groups = map(list, zip(*rows, strict=True))
    return names, roles, groups, rng.integers(0, 5, len(rows)) / 5


def test_rates_and_means_equal_those_of_loops():
    names, roles, groups, scores = draw(1)
    of = {(name, role): score for name, role, score in zip(names, roles, scores, strict=True)}
    group_of = {name: group for name, role, group in zip(names, roles, groups, strict=True) if role == "anti"}
    table = pd.DataFrame({"pair": names, "role": roles, "group": groups})
    table.loc[len(table)] = [None, "anti", "F"]  # no pair
    columns = [table[name] for name in ("pair", "role", "group")]
    rates = pair_rates(*columns, {"insult": [*scores, 1]}).set_index("group")
    means = role_scores(names, roles, groups, {"insult": scores}).set_index(["group", "role"])
    for group in ("F", "M", COMBINED):
        chosen = [name for name in group_of if group in (group_of[name], COMBINED)]
        higher = sum(of[name, "anti"] > of[name, "pro"] for name in chosen)
        tied = sum(of[name, "anti"] == of[name, "pro"] for name in chosen)
        line = rates.loc[group]
        assert line[["pairs", "higher", "tied"]].tolist() == [len(chosen), higher, tied]
        assert (line["rate"], line["share_tied"]) == ((higher + tied / 2) / len(chosen), tied / len(chosen))
        for role in ROLES:
            rows = [
                score
                for each, own, score in zip(roles, groups, scores, strict=True)
                if each == role and group in (own, COMBINED)
            ]
            found = means.loc[group, role]
            assert found["rows"] == len(rows)
            assert found["mean"] == pytest.approx(np.mean(rows))
            assert found["deviation"] == pytest.approx(np.std(rows, ddof=1))


@pytest.mark.parametrize("role", ["anti", "pro anti pro", "anti neutral"])
def test_a_pair_needs_exactly_one_row_of_each_role(role):
    pairs, roles = [*"11", *"2" * len(role.split())], ["anti", "pro", *role.split()]
    with pytest.raises(ValueError, match="Wrong pairs: 1, such as 2"):
        pair_rates(pairs, roles, None, {"insult": np.zeros(len(roles))})


@pytest.mark.parametrize(
    "given",
    [{"role": ["anti"]}, {"group": ["F", ""]}, {"predictions": {"insult": [0.1, np.nan]}}],
    ids=lambda given: next(iter(given)),
)
def test_invalid_argument_is_named(given):
    usual = {
        "pair": ["1", "1"],
        "role": ["anti", "pro"],
        "group": ["F", "M"],
        "predictions": {"insult": [1, 2]},
    }
    with pytest.raises(ValueError, match=f"`{next(iter(given))}"):
        pair_rates(**(usual | given))


def labelled(seed, size=300, identities=("cat", "dog")):
    rng = np.random.default_rng(seed)
    labels = {name: rng.integers(0, 2, size) for name in LABELS}
    mentions = {name: rng.integers(0, 2, size) for name in identities}
    return Data.of(labels, mentions), {name: rng.integers(0, 40, size) / 40 for name in LABELS}


def test_terms_are_those_of_the_reports_of_both_sets():
    (one, predictions), (other, fuzzed) = labelled(1), labelled(2, 200)
    found = fuzzed_terms(one, predictions, other, fuzzed)
    for label in LABELS:
        reports = [
            bias_report(data.labels[label], each[label], data.identities)
            for data, each in ((one, predictions), (other, fuzzed))
        ]
        for name, part in zip(("original", "fuzzed"), reports, strict=True):
            expected = [*part.terms.values(), part.score]
            assert found.loc[label, name].tolist() == pytest.approx(expected, abs=1e-15)
