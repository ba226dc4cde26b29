"""Named leaderboards: parsing of their lines, directions, and values of submissions."""

import pytest

from fairboard.interface import Direction, Options
from grader.metrics import boards, registry

BIAS = registry.default(), False
RMSE = registry.metric("rmse", Options()).describe(), True
# Classes may be called anything.
F1 = registry.metric("macro_f1", Options(classes=("a-b", "c+d", "lowest"))).describe(), True
GROUPS = {
    "region": {"north": {"score": 0.7}, "south": {"score": 0.4}},
    "age": {"old": {"score": 0.9}},
}


def parsed(text, metric):
    about, has_groups = metric
    return boards.parse(text, about, has_groups=has_groups)


def only(text, metric=BIAS):
    (rule,), faults = parsed(text, metric)
    assert faults == []
    return rule


@pytest.mark.parametrize(
    ("line", "metric", "expression", "direction", "decimals"),
    [
        ("A = overall_auc", BIAS, "Overall AUC", "highest", 4),
        ("A = subgroup", BIAS, "Subgroup AUC", "highest", 4),
        ("A = BNSP AUC lowest", BIAS, "BNSP AUC", "lowest", 4),
        ("A = score", BIAS, "score", "highest", 5),
        ("A = 0.5*overall + .5 *  BNSP AUC", BIAS, "0.5 * Overall AUC + 0.5 * BNSP AUC", "highest", 5),
        ("A = overall - bnsp_auc lowest", BIAS, "Overall AUC - BNSP AUC", "lowest", 5),
        ("A = worst group", RMSE, "worst group", "lowest", 5),
        ("A = 0.5 * overall + 0.5 * worst group", RMSE, "0.5 * score + 0.5 * worst group", "lowest", 5),
        ("A = -1e-2 * score", RMSE, "- 0.01 * score", "highest", 5),
        (
            "A = f1_c+d - 3 \N{MULTIPLICATION SIGN} f1_a-b highest",
            F1,
            "F1 of c+d - 3 * F1 of a-b",
            "highest",
            5,
        ),
        ("A = F1 of lowest lowest", F1, "F1 of lowest", "lowest", 5),
    ],
)
def test_line_becomes_a_rule(line, metric, expression, direction, decimals):
    rule = only(line, metric)
    assert (rule.expression, rule.direction, rule.decimals) == (expression, Direction(direction), decimals)
    assert only(f"A = {rule.expression} {direction}", metric).parts == rule.parts


def test_all_faults_are_reported_with_their_lines():
    lines = [
        "Good = score",
        "No value",
        "= score",
        "Empty =",
        "GOOD! = overall",
        "Far = score + nothing",
        "Half = 0.5 *",
        "End = score +",
        "Zero = 0 * score",
        f"{'x' * 41} = score",
        "One too many = score",
    ]
    rules, faults = parsed("\n".join(lines), BIAS)
    assert [rule.name for rule in rules] == ["Good"]
    assert [each.partition("line ")[2].split()[0].strip(":") for each in faults] == [
        str(number) for number in range(2, 12)
    ]
    assert "line 1 has the same address" in faults[3]
    assert "which has score, overall_auc, subgroup_auc," in faults[4]


def test_values_with_different_directions_need_a_direction():
    mixed = "A = score + worst group - 2 * overall"
    assert "different directions" in parsed(mixed, RMSE)[1][0]
    assert only(f"{mixed} highest", RMSE).direction is Direction.HIGHEST


@pytest.mark.parametrize(
    ("line", "metric", "value"),
    [
        ("A = overall_auc", BIAS, 0.8),
        ("A = 0.5 * score + 0.5 * overall_auc", BIAS, 0.7),
        ("A = score - bnsp_auc lowest", BIAS, None),
        ("A = worst group", F1, 0.4),
        ("A = worst group", RMSE, 0.9),
        ("A = 1000000 * score", BIAS, 600_000.0),
    ],
)
def test_value_is_the_weighted_sum_or_undefined(line, metric, value):
    assert only(line, metric).value(0.6, {"overall_auc": 0.8}, GROUPS) == value


def test_value_without_groups_or_of_an_extreme_size_is_undefined():
    assert only("A = worst group", RMSE).value(0.6, {}, {"region": {}}) is None
    assert only("A = 1000000 * score - score highest", BIAS).value(1.7e308, {}, {}) is None


def test_keys_are_readable_and_stable():
    assert boards.key_of("Worst  Group, 50 %") == "worst-group-50"
    assert boards.key_of("Équité") == "equite"
    assert boards.key_of("公平性") == boards.key_of("公平性") != boards.key_of("公平")
    assert len(boards.key_of("x" * 40)) == 40
