"""Second implementation of the score: bitwise identical results, no shared code."""

import random
from fractions import Fraction

import numpy as np
import pytest

from fairboard import MetricSettings, Weights, count_pairs, power_mean, prepare, report
from grader.receipts import recount
from grader.receipts.recount import RecountSettings, Row

SETTINGS = [
    MetricSettings(),
    MetricSettings(power=0.0),
    MetricSettings(power=2.5, label_threshold=0.25, identity_threshold=0.75),
    MetricSettings(power=float("-inf"), undefined="skip"),
    MetricSettings(power=float("inf"), undefined="skip"),
    MetricSettings(power=-7.3, weights=Weights(0.1, 0.2, 0.3, 0.4), undefined="skip"),
    MetricSettings(power=1e-40, weights=Weights(1.0, 0.0, 0.0, 0.0)),
    MetricSettings(power=300.0, undefined="skip"),
]


def both(labels, identities, predictions, metric):
    """Return the counts and scores of both the metric and the recount."""
    split = prepare(labels, identities, settings=metric)
    counts = count_pairs(split, predictions)
    expected = report(counts, metric)
    settings = RecountSettings.from_dict({"identities": list(identities), "metric": metric.as_dict()})
    rows = [
        Row(
            str(number),
            bool(label >= metric.label_threshold),
            frozenset(
                name for name, values in identities.items() if values[number] >= metric.identity_threshold
            ),
        )
        for number, label in enumerate(labels)
    ]
    by_id = {str(number): float(value) for number, value in enumerate(predictions)}
    found = recount.count(rows, by_id, settings)
    return (counts.as_dict(), {"score": expected.score} | expected.terms), (
        found,
        recount.score(found, settings),
    )


@pytest.mark.parametrize("metric", SETTINGS, ids=lambda metric: f"p={metric.power}")
@pytest.mark.parametrize("distinct", [1, 3, 50, None])
def test_recount_has_identical_counts_and_scores(metric, distinct):
    chance = np.random.default_rng([distinct or 0, SETTINGS.index(metric)])
    for rows in (1, 2, 7, 60, 400):
        labels = chance.choice([0.0, 0.2, 0.4999999999999999, 0.5, 1.0], rows)
        identities = {
            f"identity {number}": chance.choice([np.nan, 0.0, 0.5, 0.76, 1.0], rows, p=weights)
            for number, weights in enumerate([[0.2] * 5, [0.9, 0.02, 0.03, 0.02, 0.03], [0, 0, 0, 0, 1.0]])
        }
        predictions = chance.normal(size=rows)
        if distinct is not None:
            predictions = np.floor(chance.random(rows) * distinct) / distinct - 0.5
        expected, found = both(labels, identities, predictions, metric)
        assert found == expected


def test_adjacent_predictions_are_no_tie_and_minus_zero_equals_zero():
    labels = np.array([1.0, 0.0, 1.0, 0.0])
    cat = {"cat": np.array([1.0, 1.0, 0.0, 0.0])}
    predictions = np.array([np.nextafter(0.1, 1), 0.1, -0.0, 0.0])
    expected, found = both(labels, cat, predictions, MetricSettings())
    assert found == expected
    assert found[0]["identities"][0]["subgroup_wins"] == 2


@pytest.mark.parametrize(
    "p", [-64.0, -20.0, -5.0, -1.5, -1e-3, -1e-31, -1e-250, 0.0, 1e-12, 0.5, 1.0, 3.0, 65.0, 1e4]
)
def test_power_means_are_identical(p):
    chance = random.Random(int(p * 8))
    for count in (1, 2, 9, 24):
        values = [Fraction(chance.randint(1, 10**6), 10**6) for _ in range(count)]
        # The metric's function takes floats, so both implementations receive the same floats.
        floats = [float(value) for value in values]
        exact = recount.power_mean([Fraction(value) for value in floats], p)
        assert exact.numerator / exact.denominator == power_mean(floats, p)


def test_power_mean_with_a_zero_is_positive_only_for_positive_powers():
    values = [Fraction(0), Fraction(1)]
    assert recount.power_mean(values, -5.0) == recount.power_mean(values, 0.0) == 0
    assert float(recount.power_mean(values, 2.5)) == power_mean([0.0, 1.0], 2.5)
