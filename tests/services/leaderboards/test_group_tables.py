"""Values, losses and texts of groups."""

from dataclasses import replace

import pytest

from fairboard.bias.score import power_mean
from fairboard.groups import OTHER, weakest_group
from fairboard.interface import Direction, Exactness
from grader.services.competitions.metric import NamedMetric
from grader.services.leaderboards import group_tables

STORED = {
    "region": {
        "north": {"rows": 300, "score": 2.0},
        "south": {"rows": 100, "score": 5.0},
        "west": {"rows": 100, "score": 3.0},
    }
}


def test_the_worst_group_comes_first_with_its_distance_from_the_best():
    (table,) = group_tables.tables(STORED, ("region",), Direction.LOWEST)
    assert [(each.name, each.behind) for each in table.groups] == [
        ("south", 3.0),
        ("west", 1.0),
        ("north", 0),
    ]
    assert (table.worst, table.gap) == ("south", 3.0)


def test_the_lowest_value_is_the_worst_if_the_highest_is_the_best():
    (table,) = group_tables.tables(STORED, ("region",), Direction.HIGHEST)
    assert (table.worst, table.groups[0].name) == ("north", "north")


def test_a_large_group_is_not_named_instead_of_a_worse_one():
    stored = {
        "market": {
            "us": {"rows": 9000, "score": 0.884},
            "de": {"rows": 400, "score": 0.531},
            "fr": {"rows": 600, "score": 0.95},
            "other": {"rows": 400, "score": 0.6},
            OTHER: {"rows": 40, "score": 0.1},
        }
    }
    metric = NamedMetric(name="accuracy", groups=("market",))
    about = metric.describe()
    (table,) = group_tables.tables(stored, metric.groups, about.direction)
    assert table.worst == "de"
    assert [each.name for each in table.groups] == ["de", "other", "us", "fr", "(other)"]
    worst = group_tables.worst_of(stored, is_lowest_best=False)
    small = {"city": {OTHER: stored["market"]["fr"]}}  # a column without groups to name
    values = group_tables.values_with_errors(stored | small, about, 0.87, 0.003)
    assert worst is not None and (worst.name, weakest_group(values, about.direction).name) == ("de", "de")
    assert values["market"]["other"].standard_error > 0
    assert group_tables.values_with_errors(stored, about, 0.87, None) == {}


@pytest.mark.parametrize(
    ("value", "text", "decimals"),
    [
        (0.8699999, "0.870", 3),
        (12345.6, "12300", 0),
        (-0.00012345, "-0.000123", 6),
        (0.0, "0.00", 2),
        (1.2e15, "1.20e+15", 2),
    ],
)
def test_values_have_three_significant_digits(value, text, decimals):
    assert group_tables.text(group_tables.rounded(value)) == text
    assert group_tables.decimals(group_tables.rounded(value)) == decimals


@pytest.mark.parametrize("name", ["mae", "accuracy"])
def test_without_groups_in_the_score_the_loss_is_divided_by_rows_and_distance_from_the_best_value(name):
    metric = NamedMetric(name=name, groups=("region",))
    stored = {"region": {key: each | {"score": each["score"] / 10} for key, each in STORED["region"].items()}}
    about = metric.describe()
    tables = group_tables.tables(stored, metric.groups, about.direction)
    parts = group_tables.loss_parts(tables, metric, about, {})
    losses = {
        key: 300 * 0.8 if key == "north" else 100 * (0.5 if key == "south" else 0.7)
        for key in STORED["region"]
    }
    if name == "mae":
        losses = {"north": 300 * 0.2, "south": 100 * 0.5, "west": 100 * 0.3}
    assert parts == pytest.approx({("score", f"region = {key}"): loss for key, loss in losses.items()})
    unknown = replace(about, exactness=Exactness.OPAQUE)
    assert group_tables.loss_parts(tables, metric, unknown, {}) == {}


def test_with_groups_in_the_score_the_overall_value_is_one_part_and_each_group_another():
    groups = tuple(("region", name) for name in STORED["region"])
    metric = NamedMetric(name="mae", groups=("region",), weight=0.6, scored_groups=groups)
    about = metric.describe()
    tables = group_tables.tables(STORED, metric.groups, about.direction)
    parts = group_tables.loss_parts(tables, metric, about, {"overall": 2.8})
    assert parts.pop(("overall", "")) == pytest.approx(0.6 * 2.8)
    assert sum(parts.values()) == pytest.approx(0.4 * power_mean([2.0, 5.0, 3.0], 5.0))
    assert max(parts, key=parts.get) == ("groups", "region = south")
