"""Assessment of solutions for any built-in metric, and scores of their competitions."""

import io
from dataclasses import asdict

import numpy as np
import pytest

from grader.files import ColumnRole, FileRejected, guess_columns
from grader.files.solution.canonical_form import digest_of
from grader.metrics import registry
from grader.metrics.python_metric import PythonSettings
from grader.metrics.registry import METRICS, of_settings
from grader.models import Split
from grader.scored_files import columns_of, prepared, read_encoded, read_truth
from grader.services.competitions.metric import MetricChoice, NamedMetric, Rules
from grader.services.solutions import assessment, groups, intake
from grader.services.solutions.assessment import LiveSolution, UnusableSolution
from grader.services.solutions.truth import Truth
from grader.services.submissions.scoring_jobs import Claim, Scores
from grader.storage.stores import LocalStorage
from grader.worker.calculator import Calculator

ROWS = 240
CLASSES = ("cat", "dog", "eel")
BINARY = frozenset({"log_loss", "brier", "roc_auc", "average_precision", "mean_roc_auc", "mean_log_loss"})
TWO = frozenset({"f1", "mcc"})
OF_CLASSES = frozenset({"accuracy", "balanced_accuracy", "macro_f1", "kappa", "quadratic_kappa", *TWO})


def metric_of(name, **chosen):
    columns = ("a", "b") if name.startswith("mean_") else ()
    usual = {"quadratic_kappa": {"classes": CLASSES[:3]}} | {each: {"positive": "dog"} for each in TWO}
    return NamedMetric(name=name, columns=columns, **(usual.get(name, {}) | chosen))


def true_values(name, rng):
    if name in OF_CLASSES or name == "multi_class_log_loss":
        return list(rng.choice(CLASSES[: 2 if name in TWO else 3], ROWS))
    if name == "map_at_k":
        return [" ".join(rng.permutation(CLASSES)[: 1 + row % 2]) for row in range(ROWS)]
    values = rng.integers(0, 2, ROWS) if name in BINARY else rng.gamma(2, 10, ROWS).round(2) + 1
    return [repr(each) for each in values.tolist()]


def solution_of(name, usage=True):
    rng = np.random.default_rng(len(name))
    names = metric_of(name).columns or ("target",)
    columns = {"id": rng.permutation(ROWS * 9)[:ROWS].tolist()}
    columns |= {each: true_values(name, rng) for each in names}
    columns["region"] = rng.choice(["north", "south", ""], ROWS, p=(0.5, 0.4, 0.1)).tolist()
    if usage:
        columns["Usage"] = rng.permutation(["Public", "Private", "Ignored"] * (ROWS // 3)).tolist()
    lines = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    return "\n".join([",".join(columns), *lines, ""]).encode()


def read(name, data, metric=None):
    metric = metric or metric_of(name)
    guessed = {each.name: each.role for each in guess_columns(data)}
    roles = assessment.roles_for(metric, guessed, None)
    return assessment.read(io.BytesIO(data), metric, roles)[0]


def assess(name, data, metric=None, *, key=b"key", least=25, live=None):
    metric = metric or metric_of(name)
    choice = MetricChoice(min_class_rows=least, metric=metric)
    return assessment.assess(read(name, data, metric), choice=choice, split_key=key, live=live)


def live_of(assessed):
    return LiveSolution(assessed.row_ids, assessed.truth, Rules(metric=assessed.rules.metric))


def submission_of(name, row_ids, wanted):
    rng = np.random.default_rng(7)
    lines = []
    for row_id in row_ids:
        cells = [row_id]
        for column in wanted.columns:
            if column.places:
                cells.append(" ".join(rng.permutation(CLASSES)))
            elif column.classes:
                cells.append(rng.choice(column.classes))
            else:
                cells.append(repr(float(rng.random() * (1 if column.highest <= 1 else 50))))
        lines.append(",".join(cells))
    return "\n".join([",".join(wanted.names), *lines, ""]).encode()


@pytest.mark.parametrize("name", METRICS)
def test_a_competition_scores_as_the_command_line_does(name, tmp_path):
    data = solution_of(name)
    reported = tuple({"rmse": ("mae", "r2"), "log_loss": ("roc_auc", "brier"), "mcc": ("f1",)}.get(name, ()))
    assessed = assess(name, data, metric_of(name, reported=reported))
    assert assessed.unscorable == ()
    assert {line["value"] for line in assessed.report["groups"]} == {"north", "south"}
    storage = LocalStorage(tmp_path)
    stored = intake.keep(storage, assessed)
    options = metric_of(name).blank_options
    target = None if options.columns else "target"
    truth = read_truth(data, name, options, target=target, groups=("region",))
    settings = {"name": name, **asdict(options), "classes": truth.classes, "groups": ("region",), "weight": 1}
    metric = of_settings({**settings, "scored_groups": (), "reported": reported})
    wanted = columns_of(stored.rules.as_settings())
    file = submission_of(name, truth.row_ids, wanted)
    _, encoded = read_encoded(file, truth.row_ids, metric, wanted)
    results = {split: metric.score(each, encoded) for split, each in prepared(metric, truth).items()}
    claim = Claim(
        1, "t", 1, 1, 1, 1, storage.put(file).sha256, stored.row_ids_sha256, stored.prepared_sha256,
        metric_settings=stored.rules.as_settings(),
    )  # fmt: skip
    outcome = Calculator(storage, None).outcome(claim)
    assert isinstance(outcome, Scores), outcome
    for split, result in outcome.results.items():
        expected = results[split.value]
        assert (result.score, result.terms) == (expected.score, expected.terms)
        assert result.groups == expected.groups
        assert set(reported) <= set(result.terms)
    sample = storage.read(stored.sample_submission_sha256)
    read_encoded(sample, truth.row_ids, metric, wanted)


def test_a_solution_with_thousands_of_classes_can_be_stored():
    lines = [f"{row},c{row},Public\n{row + 6000},c{row},Private" for row in range(6000)]
    rules = assess("map_at_k", "\n".join(["id,target,Usage", *lines]).encode(), metric_of("map_at_k")).rules
    assert Rules.from_dict({"metric": rules.as_settings()}) == rules


def test_a_reported_metric_that_is_undefined_in_a_split_is_a_problem_of_the_solution():
    metric = metric_of("mae", reported=("r2", "rmse"))
    for spread, problems in ((1, ()), (0, ("In the private split: R² (reported): The target is",))):
        lines = [
            f"{n},{7 + spread * n if n % 2 else n},{('Public', 'Private')[n % 2]},x" for n in range(ROWS)
        ]
        data = "\n".join(["id,target,Usage,region", *lines, ""]).encode()
        found = assess("mae", data, metric).unscorable
        assert [each.startswith(start) for each, start in zip(found, problems, strict=True)] == [
            True for _ in problems
        ]
    classes = metric_of("accuracy", reported=("f1",))
    assert classes.problems() == []
    (problem,) = assess("accuracy", solution_of("accuracy"), classes).unscorable
    assert problem.startswith("f1 cannot be reported next to accuracy.")


@pytest.mark.parametrize("name", ["rmse", "macro_f1", "map_at_k", "mean_rmse"])
def test_a_stored_solution_is_equal_after_reading_and_has_the_same_commitment(name):
    assessed = assess(name, solution_of(name))
    truth = Truth.from_bytes(assessed.truth.to_bytes())
    assert truth.classes == assessed.truth.classes
    for key, values in assessed.truth.targets.items():
        np.testing.assert_array_equal(truth.targets[key], values)
    forms = [b"".join(each.canonical(assessed.row_ids)) for each in (truth, assessed.truth)]
    assert forms[0] == forms[1]
    again = read(name, forms[0], assessed.rules.metric)
    form = Truth.of(again, again.usage).canonical(again.row_ids)
    assert digest_of(form) == digest_of([forms[0]])


@pytest.mark.parametrize("name", ["rmse", "accuracy", "mean_rmse"])
def test_rows_without_a_split_are_divided_in_half_by_target_and_group(name):
    assessed = assess(name, solution_of(name, usage=False))
    sizes = {split: assessed.truth.rows(split).size for split in Split}
    assert sizes == {Split.PUBLIC: ROWS // 2, Split.PRIVATE: ROWS // 2}
    for line in assessed.report["groups"]:
        assert abs(line["rows"]["public"] - line["rows"]["private"]) <= 8
    other = assess(name, solution_of(name, usage=False), key=b"other")
    assert (other.truth.usage != assessed.truth.usage).any()


def test_groups_with_enough_rows_enter_the_score_and_others_say_why_not():
    data = solution_of("rmse").decode().splitlines()
    small = [line.replace("north", "tiny").replace("south", "tiny") for line in data[1:9]]
    data = "\n".join([data[0], *small, *data[9:], ""]).encode()
    assessed = assess("rmse", data, metric_of("rmse", weight=0.5), least=15)
    metric = assessed.rules.metric
    assert {value for _, value in metric.scored_groups} == {"north", "south"}
    assert metric.groups == ("region",)
    (line,) = [each for each in assessed.report["groups"] if each["value"] == "tiny"]
    assert "The minimum is 15" in line["why_not"] or "undefined" in line["why_not"]
    warnings = [each["message"] for each in assessed.report["findings"] if each["code"] == "small_groups"]
    assert sum("region = tiny" in each and 'as "(other)"' in each for each in warnings) == 1
    assert [term.name for term in assessed.rules.scorer.describe().terms] == ["overall"]


def solution_with_one_class_in_the_north():
    lines = solution_of("f1").decode().splitlines()
    return "\n".join([line.replace(",dog,north", ",cat,north") for line in lines] + [""]).encode()


def test_a_group_in_which_the_metric_is_undefined_says_why_it_is_not_in_the_score():
    data = solution_with_one_class_in_the_north()
    assessed = assess("f1", data, metric_of("f1", weight=0.5), least=5)
    assert assessed.rules.metric.scored_groups == (("region", "south"),)
    (line,) = [each for each in assessed.report["groups"] if each["value"] == "north"]
    assert "all rows have the class cat" in line["why_not"] and not line["in_score"]
    assert sorted(line["rows"]) == ["private", "public"] and min(line["rows"].values()) > 0


def test_a_corrected_solution_in_which_a_group_of_the_score_is_undefined_says_why():
    first = assess("f1", solution_of("f1"), metric_of("f1", weight=0.5), least=5)
    live = live_of(first)
    corrected = solution_with_one_class_in_the_north()
    (problem,) = assess("f1", corrected, first.rules.metric, live=live).unscorable
    assert "region = north" in problem and "all rows have the class cat" in problem


def test_settings_that_need_a_group_in_the_score_are_refused_without_one():
    data = b"\n".join(line.replace(b",north,", b",,").replace(b",south,", b",,") for line in
                      solution_of("rmse").split(b"\n"))  # fmt: skip
    first = assess("rmse", data)
    live = live_of(first)
    rules = Rules(metric=first.rules.metric.model_copy(update={"weight": 0.5}))
    changed = assessment.assess_settings(first.report, live=live, rules=rules, is_draft=True)
    assert "role slice" in "".join(changed.unscorable)


@pytest.mark.parametrize("nonnegative", [False, True])
def test_groups_in_the_score_of_a_metric_in_python_need_a_declared_range(nonnegative):
    python = PythonSettings(nonnegative=nonnegative).as_dict()
    metric = NamedMetric(name="python", source="0" * 64, python=python, weight=0.5)
    assert [each.startswith("Metric of the organizers can be negative") for each in metric.problems()] == (
        [] if nonnegative else [True]
    )


def test_a_target_that_makes_the_metric_undefined_is_a_problem_of_each_split():
    data = solution_of("roc_auc").replace(b",0,", b",1,")
    assessed = assess("roc_auc", data)
    assert [each.partition(":")[0] for each in assessed.unscorable] == [
        "In the public split",
        "In the private split",
    ]
    with pytest.raises(FileRejected):
        read("roc_auc", solution_of("rmse"))


def test_a_corrected_solution_lists_its_changes_and_keeps_the_groups_in_the_score():
    data = solution_of("macro_f1")
    first = assess("macro_f1", data, metric_of("macro_f1", weight=0.5))
    live = live_of(first)
    row_id, pet, *rest = data.decode().splitlines()[5].split(",")
    other = next(each for each in CLASSES if each != pet)
    corrected = data.replace(
        ",".join([row_id, pet, *rest]).encode(), ",".join([row_id, other, *rest]).encode()
    )
    solution = read("macro_f1", corrected, first.rules.metric)
    assessed = assess("macro_f1", corrected, first.rules.metric, live=live)
    _, table = assessment.compare(live, solution, assessed.truth)
    assert table.decode().splitlines()[1:] == [f"{row_id},target,{pet},{other}"]
    assert assessed.rules.metric == first.rules.metric
    ids = [line.split(",")[0] for line in data.decode().splitlines() if f",{pet}," in line]
    shown = rf"contains 'cow', in the rows with the ids {min(map(int, ids))}, "
    with pytest.raises(FileRejected, match=shown):
        read("macro_f1", data.replace(f",{pet},".encode(), b",cow,"), first.rules.metric)


def test_a_group_column_with_the_name_of_the_target_is_rejected():
    data = solution_of("rmse").replace(b"id,target,region", b"id,price,target")
    guessed = {each.name: each.role for each in guess_columns(data)}
    roles = {**guessed, "price": ColumnRole.LABEL, "target": ColumnRole.SLICE}
    metric = metric_of("rmse", target="price")
    with pytest.raises(UnusableSolution, match="Rename the group column target"):
        assessment.read(io.BytesIO(data), metric, assessment.roles_for(metric, guessed, roles))


@pytest.mark.parametrize(
    ("metric", "classes", "problem"),
    [
        (metric_of("f1"), ("a", "b", "c"), "needs exactly two classes"),
        (metric_of("f1", positive="yes"), ("a", "b"), "'yes' is not one of the classes"),
        (metric_of("kappa"), ("1",), "at least two classes"),
        (metric_of("multi_class_log_loss"), ("cat", "id"), "The column id contains the ids"),
    ],
)
def test_classes_that_do_not_suit_the_metric_are_a_problem_of_the_solution(metric, classes, problem):
    data = "\n".join(
        ["id,target", *(f"{row},{classes[row % len(classes)]}" for row in range(90)), ""]
    ).encode()
    assessed = assess(metric.name, data, metric)
    assert problem in "".join(assessed.unscorable)


@pytest.mark.parametrize(
    ("unit", "advice"),
    [
        (1e-8, "smaller unit"),
        (1.0, None),
        (1e10, "Set the decimals to 0"),
        (1e4, "Set the decimals to 3"),
    ],
)
def test_a_target_in_an_unsuitable_unit_is_a_warning(unit, advice):
    numbers = (np.random.default_rng(0).normal(0, 1, 90) * unit).tolist()
    data = "\n".join(["id,target", *(f"{row},{each!r}" for row, each in enumerate(numbers)), ""]).encode()
    report = assess("rmse", data).report
    warnings = [each["message"] for each in report["findings"] if each["code"] == "score_scale"]
    assert len(warnings) == (advice is not None)
    assert (advice or "") in "".join(warnings)


def test_each_identity_that_is_not_proposed_has_a_reason():
    rows = np.arange(400)
    labels, usage = (rows % 2 == 0).astype(float), np.where(rows < 200, 1, 2).astype(np.int8)
    mentions = {
        "male": rows % 3 == 0,
        "rare": (rows % 3 == 0) & (rows < 260),
        "tiny": rows % 100 < 2,
        "none": (rows % 2 == 0) & (rows % 3 == 0),
        "all": rows % 2 == 0,
    }
    identities = {name: each.astype(float) for name, each in mentions.items()}
    found = groups.identities_of(Truth(labels, identities, usage), MetricChoice(min_class_rows=25))
    told = {line["name"]: (line["why_not"], line["is_defined"]) for line in found.facts["identities"]}
    assert told == {
        "male": ("", True),
        "rare": ("Only 10 rows of a class in a split. The minimum is 25.", True),
        "tiny": ("Only 2 rows of a class in a split. The minimum is 25.", True),
        "none": ("No negative row of the public split mentions it, so an AUC would be undefined.", False),
        "all": ("Every positive row of the public split mentions it, so an AUC would be undefined.", False),
    }
    assert found.rules.identities == ("male",) and not found.problems


def test_ids_may_have_any_name_and_name_the_column_of_submissions():
    data = solution_of("rmse").replace(b"id,target", b"PassengerId,target")
    assessed = assess("rmse", data, metric_of("rmse", prediction="units"))
    columns = Rules.from_dict(assessed.rules.as_dict()).columns
    assert columns.names == ("PassengerId", "units") and assessed.report["id"] == "PassengerId"
    sku = data.replace(b"PassengerId", b"sku")
    guessed = {each.name: each.role for each in guess_columns(sku)} | {"sku": ColumnRole.ID}
    roles = assessment.roles_for(metric_of("rmse"), guessed, guessed)
    assert assessment.read(io.BytesIO(sku), metric_of("rmse"), roles)[0].roles.id == "sku"
    stored = Rules(identities=("cat",), metric=NamedMetric(id="sku", prediction="p"))
    assert stored.columns.names == ("sku", "p") and Rules.from_dict(stored.as_settings()) == stored
    assert registry.of_settings(stored.as_settings()).name == "bias"
