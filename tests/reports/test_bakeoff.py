"""Bake-off: adjusted tests, ties, recommendations, error rates and the model card."""

import json

import numpy as np
import pytest
from scipy import stats

from grader.files import ColumnRole, read_solution
from grader.metrics import MetricSettings, bias_report
from grader.metrics.bias.analysis.influence import Measured, Sets
from grader.metrics.bias.analysis.paired_differences import score_difference
from grader.metrics.bias.expected_error import rows_needed
from grader.metrics.bias.prepared import prepare
from grader.metrics.bias.subgroups import BIAS_AUCS
from grader.reports import Material, bakeoff_report, html_page, measure_candidates, plain_text
from grader.reports.bakeoff import holm
from grader.reports.model_card import model_card

SKIP = MetricSettings(undefined="skip")


def inputs(
    rows: int, noise: dict[str, float], *, shares: dict[str, float] | None = None, **options
) -> Material:
    """Candidates with a common error and an error of their own, whose size is the noise."""
    rng = np.random.default_rng(3)
    labels = (rng.random(rows) < 0.4).astype(int)
    columns = {
        name: (rng.random(rows) < share).astype(int) for name, share in (shares or {"cat": 0.4}).items()
    }
    pairs = "".join(f",{name}" for name in columns)
    lines = [
        f"r{row},{labels[row]}" + "".join(f",{values[row]}" for values in columns.values())
        for row in range(rows)
    ]
    solution = read_solution("\n".join([f"id,target{pairs}", *lines]).encode())
    common = labels + rng.normal(size=rows)
    predictions = {name: common + size * rng.normal(size=rows) for name, size in noise.items()}
    return Material(solution, predictions=predictions, settings=SKIP, **options)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_holm_adjustment_rejects_the_same_hypotheses_as_the_step_down_procedure(count: int):
    rng = np.random.default_rng(count)
    for _ in range(50):
        p_values = (rng.random(count) ** 3).tolist()
        adjusted = holm(p_values)
        for level in (0.01, 0.05, 0.3):
            rejected, order = set(), sorted(range(count), key=p_values.__getitem__)
            for step, place in enumerate(order):
                if p_values[place] >= level / (count - step):
                    break
                rejected.add(place)
            assert {place for place, p in enumerate(adjusted) if p < level} == rejected
    assert holm([None, 0.01, 0.04]) == [None, 0.03, 0.08]


def test_a_clearly_better_candidate_is_recommended():
    found = measure_candidates(inputs(3000, {"worst": 4.0, "best": 0.0, "middle": 1.0}))
    assert list(found.reports) == ["best", "middle", "worst"]
    assert found.recommended == "best"
    assert next(found.sentences()) == (
        "best is recommended: its score is higher than that of middle and worst on these 3,000 rows."
    )


def test_unverified_differences_are_marked_in_the_recommendation():
    caution = "Caution: some differences from a are outside the range of verified intervals."
    few = inputs(200, {"a": 0.0, "b": 1.0})
    many = inputs(2000, {"a": 0.0, "b": 1.0})
    assert caution in list(measure_candidates(few).sentences())
    assert caution not in list(measure_candidates(many).sentences())


def test_equal_candidates_cannot_be_separated_and_the_needed_rows_are_stated():
    found = measure_candidates(inputs(1500, {"a": 0.3, "c": 0.3, "bad": 4.0}))
    first, second, *_ = sorted(found.reports, key=lambda name: -found.reports[name].score.value)
    assert found.recommended is None
    assert list(found.sentences())[:2] == [
        f"{first} and {second} cannot be separated on these 1,500 rows.",
        f"{first} has a higher score than bad.",
    ]
    error = found.pairs[first, second].score.standard_error
    needed = 1500 * ((1.96 + 0.84) * error / 0.01) ** 2
    stated = [each for each in found.sentences() if each.startswith("About")]
    assert stated == [f"About {float(f'{needed:.2g}'):,.0f} rows can show a difference of 0.01."]


def test_rows_needed_for_the_identity_with_the_largest_need_are_stated():
    found = measure_candidates(inputs(2000, {"a": 0.0, "b": 1.2}, shares={"cat": 0.4, "dog": 0.1}))
    line = found.reports["a"].report.subgroups[1]
    needed = rows_needed(0.02, line.positives / line.size, line.size / 2000)
    assert needed > 2000
    assert list(found.sentences())[1:] == [
        "For a standard error of at most 0.02 in each AUC of dog, about "
        f"{float(f'{needed:.2g}'):,.0f} rows like these are needed."
    ]


def test_ties_are_stated_for_each_candidate_and_are_not_assumed_to_be_transitive():
    found = measure_candidates(inputs(1200, {"a": 0.0, "b": 0.7, "c": 0.9}))
    assert [found.tied_with(name) for name in ("a", "b", "c")] == [[], ["c"], ["b"]]
    middle = measure_candidates(inputs(1200, {"a": 0.0, "b": 0.5, "c": 0.9}))
    assert [middle.tied_with(name) for name in ("a", "b", "c")] == [["b"], ["a", "c"], ["b"]]
    table = bakeoff_report(middle).sections[1].blocks[0]
    assert [line[1].text for line in table.lines] == ["b", "a and c", "b"]


def test_too_few_rows_of_an_identity_prevent_a_recommendation():
    found = measure_candidates(inputs(900, {"a": 0.0, "b": 4.0}, shares={"cat": 0.4, "newt": 0.01}))
    assert found.recommended is None
    assert found.too_few == ["newt"]
    assert next(found.sentences()).endswith("8 rows of each class. Label more, or omit newt.")
    omitted = inputs(900, {"a": 0.0, "b": 4.0}, shares={"cat": 0.4, "newt": 0.01}, minimum_size=30)
    assert measure_candidates(omitted).recommended == "a"
    assert "Omitted because fewer than 30 rows mention them: newt" in plain_text(
        bakeoff_report(measure_candidates(omitted))
    )


def test_measurements_equal_those_of_the_library():
    data = inputs(800, {"a": 0.5, "b": 1.0})
    found = measure_candidates(data)
    solution = data.solution
    split = prepare(solution.labels, solution.identities, settings=SKIP)
    measured = {name: Measured.of(Sets(split), data.predictions[name], SKIP) for name in data.predictions}
    for name, predictions in data.predictions.items():
        expected = bias_report(solution.labels, predictions, solution.identities, settings=SKIP)
        assert found.reports[name].report == expected
    (((first, second), report),) = found.pairs.items()
    assert report.score == score_difference(measured[first], measured[second])
    assert found.p_values == {(first, second): report.score.p_value}
    ratio = abs(report.score.difference) / report.score.standard_error
    assert report.score.p_value == pytest.approx(
        2 * stats.t.sf(ratio, min(split.positives, split.negatives) - 1)
    )


def test_error_rates_refer_to_each_identity_at_the_threshold_of_lowest_cost():
    data = inputs(800, {"a": 0.5}, shares={"cat": 0.4, "dog": 0.1})
    found = measure_candidates(data, costs=(1.0, 4.0))
    positive, flagged = data.solution.labels >= 0.5, data.predictions["a"] >= found.curves["a"].threshold
    for name, member in {"": np.ones(800), **data.solution.identities}.items():
        rows = member >= 0.5
        expected = (flagged[rows & ~positive].mean(), (~flagged[rows & positive]).mean())
        assert found.rates["a"][name] == pytest.approx(expected)


def test_one_candidate_is_reported_without_comparisons():
    report = bakeoff_report(measure_candidates(inputs(900, {"a": 0.5})))
    assert report.title == "Report on a"
    assert [section.key for section in report.sections] == ["recommendation", "terms", "identities", "costs"]
    assert report.sections[0].texts[0].startswith("a is the only candidate. Its score is 0.")


def test_report_has_a_heatmap_for_each_auc_and_all_pairs():
    report = bakeoff_report(measure_candidates(inputs(900, {"a": 0.0, "b": 1.0, "c": 2.0})))
    sections = {section.key: section for section in report.sections}
    heatmaps = sections["identities"].blocks
    assert [block.caption for block in heatmaps] == [
        "Subgroup AUC by identity",
        "BPSN AUC by identity",
        "BNSP AUC by identity",
    ]
    assert all(block.head == ("identity", "a", "b", "c") and block.lines[0][3].shade for block in heatmaps)
    assert [line[0].text for line in sections["differences"].blocks[0].lines] == ["a - b", "a - c", "b - c"]
    assert json.loads(json.dumps(report.as_dict()))["recommendation"]["recommended"] == "a"


def test_heatmaps_show_the_interval_of_each_value():
    found = measure_candidates(inputs(900, {"a": 0.0, "b": 1.0}, shares={"cat": 0.4, "newt": 0.002}))
    for auc, block in zip(BIAS_AUCS, bakeoff_report(found).sections[2].blocks, strict=True):
        for name, *cells in block.lines:
            for report, cell in zip(found.reports.values(), cells, strict=True):
                each = report.cells[name.text][auc]
                value = "-" if each.value is None else f"{each.value:.3f}"
                mark = "" if each.is_checked else "°"
                interval = "" if each.low is None else f" ({each.low:.3f} to {each.high:.3f}{mark})"
                assert cell.text == value + interval


def test_page_is_self_contained_and_has_a_distinct_line_for_each_of_eight_candidates():
    names = {f"m{number}": number / 4 for number in range(8)}
    page = html_page(bakeoff_report(measure_candidates(inputs(400, names))))
    assert "<script" not in page and "default-src 'none'" in page
    assert all(f'class="line s{number}"' in page and f".line.s{number}{{" in page for number in range(1, 8))


def test_counterfactual_pairs_are_compared_for_all_candidates():
    lines = [f"r{n},{n % 2},{int(n % 3 == 0)},p{n // 2},{('anti', 'pro')[n % 2]}" for n in range(80)]
    text = "\n".join(["id,target,cat,pair,role", *lines]).encode()
    roles = {"id": "id", "target": "label", "cat": "identity", "pair": "pair", "role": "slice"}
    solution = read_solution(text, roles={name: ColumnRole(role) for name, role in roles.items()})
    rng = np.random.default_rng(1)
    data = Material(solution, predictions={"a": rng.random(80), "b": rng.random(80)}, settings=SKIP)
    sections = {each.key: each for each in bakeoff_report(measure_candidates(data)).sections}
    table = sections["pairs"].blocks[1]
    assert table.head[0] == "candidate"
    assert [line[0].text for line in table.lines] == ["a", "b"]


def test_model_card_has_metadata_in_the_form_of_the_hub():
    data = inputs(900, {'my "model"': 0.5, "other": 3.0})
    card = model_card(measure_candidates(data), "comments.csv")
    assert card.startswith("---\npipeline_tag: text-classification\n")
    metadata = card.split("---\n")[1]
    line = next(line for line in metadata.splitlines() if line.startswith("model-index: "))
    (model,) = json.loads(line.removeprefix("model-index: "))
    (result,) = model["results"]
    assert model["name"] == 'my "model"'
    assert result["task"] == {"type": "text-classification"}
    assert result["dataset"] == {"type": "private", "name": "comments.csv"}
    expected = bias_report(
        data.solution.labels, data.predictions[model["name"]], data.solution.identities, settings=SKIP
    )
    values = {metric["type"]: metric["value"] for metric in result["metrics"]}
    assert values == {"score": expected.score, "roc_auc": expected.terms.pop("overall_auc")} | {
        name: value for name, value in expected.terms.items() if name != "overall_auc"
    }
    assert "| cat | " in card and 'my "model" is recommended' in card
    assert "{" not in card.split("---\n", 2)[2]


def test_undefined_terms_are_not_metrics_of_the_model_card():
    text = "\n".join(["id,target,cat", *(f"r{row},1,{row % 2}" for row in range(40))])
    data = Material(read_solution(text.encode()), predictions={"a": np.arange(40.0)}, settings=SKIP)
    found = measure_candidates(data)
    assert found.recommended is None and found.reports["a"].score.value is None
    assert '"metrics": []' in model_card(found, "comments.csv")
    assert "There is no score" in plain_text(bakeoff_report(found))
