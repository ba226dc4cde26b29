"""Counterfactual pairs: rates, means, ties."""

import json

import numpy as np
import pytest

from fairboard.bias.analysis.counterfactual_pairs import COMBINED, compare_pairs, match_pairs

ROLES = ("anti", "pro")


def draw(seed, pairs=60):
    rng = np.random.default_rng(seed)
    names = np.repeat([f"p{number}" for number in range(pairs)], 2)
    roles = np.tile(["anti", "pro"], pairs)
    genders = rng.permutation(np.repeat(["F", "M"], pairs // 2))
    groups = np.stack([genders, np.where(genders == "F", "M", "F")], 1).ravel()
    scores = rng.integers(0, 6, 2 * pairs) / 6
    order = rng.permutation(2 * pairs)
    return [column[order].tolist() for column in (names, roles, groups, scores)]


@pytest.mark.parametrize("seed", range(3))
def test_rates_equal_a_comparison_of_every_pair(seed):
    names, roles, groups, scores = draw(seed)
    found = compare_pairs(names, roles, groups, {"insult": scores})
    of = {(name, role): score for name, role, score in zip(names, roles, scores, strict=True)}
    group_of = {name: group for name, role, group in zip(names, roles, groups, strict=True) if role == "anti"}
    for group in ("F", "M", COMBINED):
        chosen = [name for name in group_of if group in (group_of[name], COMBINED)]
        higher = sum(of[name, "anti"] > of[name, "pro"] for name in chosen)
        tied = sum(of[name, "anti"] == of[name, "pro"] for name in chosen)
        rate = found.rate("insult", group)
        assert (rate.pairs, rate.higher, rate.tied) == (len(chosen), higher, tied)
        assert rate.rate == (higher + tied / 2) / len(chosen)
        assert rate.share_tied == tied / len(chosen)


def test_means_and_deviations_cover_the_rows_of_each_group_and_role():
    names, roles, groups, scores = draw(4)
    found = compare_pairs(names, roles, groups, {"insult": scores})
    assert [(each.group, each.role) for each in found.scores] == [
        ("F", "anti"),
        ("F", "pro"),
        ("M", "anti"),
        ("M", "pro"),
        (COMBINED, "anti"),
        (COMBINED, "pro"),
    ]
    for each in found.scores:
        rows = [
            score
            for role, group, score in zip(roles, groups, scores, strict=True)
            if role == each.role and each.group in (group, COMBINED)
        ]
        assert each.rows == len(rows)
        assert each.mean == pytest.approx(np.mean(rows))
        assert each.deviation == pytest.approx(np.std(rows, ddof=1))


def test_exchanged_roles_reverse_every_rate():
    names, roles, groups, scores = draw(5)
    one = compare_pairs(names, roles, groups, {"insult": scores}, roles=("anti", "pro"))
    other = compare_pairs(names, roles, groups, {"insult": scores}, roles=("pro", "anti"))
    assert one.rate("insult").rate + other.rate("insult").rate == 1


def test_pronoun_bias_is_visible_in_groups_but_not_in_the_combined_rate():
    names, roles, groups, _ = draw(6)
    scores = [1.0 if group == "F" else 0.0 for group in groups]
    found = compare_pairs(names, roles, groups, {"insult": scores})
    assert [found.rate("insult", group).rate for group in ("F", "M", COMBINED)] == [1, 0, 0.5]


def test_rows_outside_pairs_are_ignored():
    names, roles, groups, scores = draw(7)
    more = compare_pairs(["", *names], ["", *roles], ["", *groups], {"insult": [9.0, *scores]})
    assert more == compare_pairs(names, roles, groups, {"insult": scores})


def test_pairs_without_groups_are_all_combined():
    names, roles, _, scores = draw(8)
    found = compare_pairs(names, roles, None, {"insult": scores, "threat": scores})
    assert [(rate.label, rate.group) for rate in found.rates] == [("insult", COMBINED), ("threat", COMBINED)]
    json.dumps(found.as_dict(), allow_nan=False)


def test_nothing_is_defined_without_pairs():
    found = compare_pairs(["", ""], ["", ""], None, {"insult": [0.1, 0.2]})
    assert found.rate("insult").rate is None
    assert found.rate("insult").share_tied is None
    assert found.scores[0].mean is None


def test_all_errors_of_pairs_are_listed_together():
    pair = ["1", "1", "2", "3", "3", "3", "4", "4", "4"]
    role = ["anti", "pro", "anti", "anti", "anti", "pro", "anti", "pro", "neutral"]
    with pytest.raises(ValueError, match="role") as error:
        match_pairs(pair, role, ROLES)
    assert str(error.value) == (
        "Pairs with several rows for the role 'anti': 3. "
        "Pairs without a row for the role 'pro': 2. "
        "Pairs with a role that is neither 'anti' nor 'pro': 4."
    )


def test_only_the_first_five_invalid_pairs_are_named():
    with pytest.raises(ValueError, match="the role 'pro': a, b, c, d, e and 2 more"):
        match_pairs(list("abcdefg"), ["anti"] * 7, ROLES)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"role": ["anti"]}, "`role` must have 2 values, not 1"),
        ({"group": ["F"]}, "`group` must have 2 values, not 1"),
        ({"group": ["F", ""]}, "`group` must have a value in every row of a pair. Rows without a value: 1"),
        ({"group": ["F", "combined"]}, "`group` must not be 'combined'"),
        ({"predictions": {"insult": [0.1, np.nan]}}, r"`predictions\['insult'\]` must be finite"),
        ({"roles": ("pro", "pro")}, "`roles` must contain two different roles, not 'pro' twice"),
    ],
)
def test_invalid_argument_is_named(given, message):
    usual = {
        "pair": ["1", "1"],
        "role": ["anti", "pro"],
        "group": ["F", "M"],
        "predictions": {"insult": [1, 2]},
    }
    with pytest.raises(ValueError, match=message):
        compare_pairs(**(usual | given))
