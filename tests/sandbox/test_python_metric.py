"""Metrics of organizers: signatures, public metrics, made-up labels, errors."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairboard.groups import GroupedMetric, GroupRules
from fairboard.interface import ColumnKind, ColumnSpec, Direction
from grader.metrics.python_check import described
from grader.metrics.python_metric import (
    MOST_SOURCE_BYTES,
    MetricFailed,
    MetricSource,
    PythonMetric,
    PythonSettings,
    UnsuitableSource,
    made_up_truth,
)
from grader.sandbox import CallLimits, CallStatus, SandboxClient, layers
from tests.sandbox.public_metrics import PUBLIC_METRICS, ROWS

Sandboxes = tuple[SandboxClient, SandboxClient]
IDS = np.arange(100, 100 + ROWS)
RMSE = """
def score(solution, submission, row_id_column_name):
    mse = ((submission["prediction"] - solution["target"]) ** 2).mean()
    return {"rmse": mse ** 0.5, "mse": mse}
"""


def settings(truth, predictions, **others):
    return PythonSettings(
        truth=tuple(ColumnSpec(name) for name in truth if name != "id"),
        predictions=tuple(ColumnSpec(name) for name in predictions),
        **others,
    )


def one_column(sandboxes, source, truth=None, **others):
    """Return a metric of one column, and the truth."""
    table = {"id": IDS, "target": np.arange(ROWS) % 7.0 if truth is None else truth}
    chosen = settings(table, ["prediction"], **others)
    return PythonMetric(MetricSource.of(source.encode()), chosen, sandboxes[0]), table


def score(metric, truth, prediction):
    rows = np.arange(len(truth["id"]))
    return metric.score(metric.prepare(truth, rows), metric.encode({"prediction": prediction})).score


@pytest.mark.parametrize("public", PUBLIC_METRICS, ids=lambda each: each.name)
def test_public_metric_equals_its_oracle_in_every_signature(sandboxes, complete_sandbox, public):
    solution, submission = public.tables(np.random.default_rng(8))
    truth = {"id": IDS, **{name: values.to_numpy() for name, values in solution.items()}}
    predictions = {name: values.to_numpy() for name, values in submission.items()}
    half = np.arange(0, ROWS, 2)
    for signature, source in public.sources().items():
        parsed = MetricSource.of(source.encode())
        assert parsed.function == signature
        direction = Direction.LOWEST if public.lowest else Direction.HIGHEST
        chosen = settings(truth, predictions, direction=direction)
        sandbox = (
            complete_sandbox if re.search("sklearn|spearman", source) else sandboxes[0]
        )  # calls of the latter are faster
        metric = PythonMetric(parsed, chosen, sandbox)
        expected = public.oracle(
            solution.iloc[half].reset_index(drop=True), submission.iloc[half].reset_index(drop=True)
        )
        value = metric.score(metric.prepare(truth, half), metric.encode(predictions)).score
        assert math.isclose(value, expected, rel_tol=1e-12), (signature, value, expected)


def test_values_of_a_dictionary_are_the_score_and_terms(sandboxes):
    rng = np.random.default_rng(3)
    bare, truth = one_column(sandboxes, RMSE, truth=rng.normal(size=ROWS))
    file = {"prediction": rng.normal(size=ROWS)}
    metric, _ = described(bare, truth, file)
    assert metric.settings.terms == ("score", "mse")
    assert [each.name for each in metric.describe().terms] == ["mse"]
    result = metric.score(metric.prepare(truth, np.arange(ROWS)), metric.encode(file))
    errors = file["prediction"] - truth["target"]
    assert result.score == pytest.approx(np.mean(errors**2) ** 0.5)
    assert result.terms == {"mse": pytest.approx(result.score**2)}
    assert result.evidence["sandbox"] == list(layers().in_force)


@pytest.mark.parametrize(
    "result",
    ["{}", "{'a': 1.0, 'score': 2.0}", "{'score': 1.0, 'Not a name': 2.0}"],
)
def test_other_dictionaries_are_refused(sandboxes, result):
    source = f"def grade(submission, answers):\n    return {result}\n"
    metric, truth = one_column(sandboxes, source)
    with pytest.raises(MetricFailed) as failed:
        described(metric, truth, {"prediction": truth["target"]})
    assert failed.value.status is CallStatus.WRONG_RESULT
    metric, truth = one_column(sandboxes, RMSE, terms=("score", "mae"))  # other names than described
    with pytest.raises(MetricFailed):
        score(metric, truth, truth["target"])


TYPES = """
def score(solution, submission, row_id_column_name, expected=None):
    types = {name: str(each.dtype) for name, each in [*solution.items(), *submission.items()]}
    assert types == expected, types
    assert list(solution) == [row_id_column_name, "label", "weight"], list(solution)
    assert list(submission) == [row_id_column_name, "a", "b", "c"], list(submission)
    assert solution["label"].isna().tolist()[:2] == [False, True]
    assert solution.index.tolist() == list(range(len(solution)))
    return 1.0
"""


def test_tables_have_the_types_of_read_csv(sandboxes):
    labels = np.array(["NA", None, *["x"] * (ROWS - 2)], dtype=object)
    truth = {"id": IDS, "label": labels, "weight": np.ones(ROWS)}
    types = {"id": "int64", "label": "str", "weight": "int64", "a": "int64", "b": "float64", "c": "float64"}
    columns = {"a": np.ones(ROWS), "b": np.arange(ROWS) / 2, "c": np.ones(ROWS)}
    chosen = settings(truth, columns, whole=frozenset({"weight", "a", "b"}), arguments={"expected": types})
    metric = PythonMetric(MetricSource.of(TYPES.encode()), chosen, sandboxes[0])
    assert metric.score(metric.prepare(truth, np.arange(ROWS)), metric.encode(columns)).score == 1.0


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (b"x" * (MOST_SOURCE_BYTES + 1), "at most 100,000 bytes"),
        (b"def score(solution:\n", "Line 1"),
        (b"def score(a, b): pass", "must define"),
        (b"score = lambda a, b, c: 1", "must define"),
        (b"\xff\xfe", "UTF-8"),
        (b"def score(a, b, c): return 1\0", "null|UTF-8"),
        (b"-" * 90_000 + b"1", "nested too deeply"),
    ],
)
def test_unsuitable_source_is_refused_with_the_reason(source, problem):
    with pytest.raises(UnsuitableSource, match=problem):
        MetricSource.of(source)
    with_mark = b"\xef\xbb\xbfdef grade(submission, answers): pass"
    assert MetricSource.of(with_mark).function == "grade"


NEGATIVE = """
class ParticipantVisibleError(Exception):
    pass
def score(solution, submission, row_id_column_name):
    if (submission["prediction"] < 0).any():
        raise ParticipantVisibleError(f"Must not\\nbe negative: {solution['target'].tolist()}")
    if (submission["prediction"] > 9).any():
        raise ValueError(solution["target"].tolist())
    return float((solution["target"] == submission["prediction"]).mean())
"""


def test_checker_shows_messages_and_scorer_only_a_code(sandboxes):
    metric, truth = one_column(sandboxes, NEGATIVE)
    rows = np.arange(ROWS)
    made_up = metric.prepare(made_up_truth(truth, rows, id_column="id"), rows)
    fine, negative, large = (
        metric.encode({"prediction": np.full(ROWS, value)}) for value in (1.0, -1.0, 10.0)
    )
    assert metric.check_file(made_up, fine) is None
    message = metric.check_file(made_up, negative)
    assert message is not None
    assert message.startswith("Must not be negative")
    assert len(message) <= 280
    assert str(truth["target"].tolist())[:60] not in message
    assert metric.check_file(made_up, large) == "The metric raises an error."
    for file in (negative, large):
        with pytest.raises(MetricFailed) as failed:
            metric.score(metric.prepare(truth, rows), file)
        assert str(failed.value) == "The metric raises an error."
        assert failed.value.status is CallStatus.ERROR


def test_made_up_labels_have_the_distribution_but_no_label():
    rng, rows = np.random.default_rng(1), 4000
    texts = np.array([f"Answer {each} of Ä{each * 7:x}" for each in range(rows)], dtype=object)
    truth = {
        "id": np.arange(rows),
        "class": np.array(rng.choice(["a", "b", "c"], rows, p=[0.7, 0.2, 0.1]), dtype=object),
        "number": rng.normal(50, 10, rows),
        "count": rng.integers(0, 10**9, rows),
        "text": texts,
    }
    truth |= {f"is_{name}": (truth["class"] == name).astype(int) for name in "abc"}
    shares = rng.dirichlet(np.ones(3), rows)
    truth |= {f"share_{place}": shares[:, place] for place in range(3)}
    public = np.arange(0, rows, 3)
    made_up = made_up_truth(truth, public, id_column="id", seed=2)
    assert list(made_up) == list(truth)
    assert made_up["id"] is truth["id"]
    assert abs(np.mean(made_up["class"] == "a") - 0.7) < 0.03
    assert (sum(made_up[f"is_{name}"] for name in "abc") == 1).all()
    assert ((made_up["class"] == "b") == made_up["is_b"]).all()
    np.testing.assert_allclose(sum(made_up[f"share_{place}"] for place in range(3)), 1)
    assert abs(made_up["number"].mean() - 50) < 1
    assert made_up["count"].dtype == truth["count"].dtype
    for name in ("number", "count", "text"):
        assert not set(made_up[name].tolist()) & set(truth[name].tolist()), name
    assert abs(np.corrcoef(made_up["number"], truth["number"])[0, 1]) < 0.06
    assert {len(each) for each in made_up["text"]} <= {len(each) for each in texts}
    assert not np.array_equal(made_up_truth(truth, public, id_column="id")["number"], made_up["number"])


def test_made_up_texts_keep_their_form_and_missing_values():
    texts = np.array(["3 17 A-b.c", None, "Ünï\0😀", "", "x" * 9, np.nan, "Z9"], dtype=object)
    made_up = made_up_truth({"id": np.arange(7), "text": texts}, np.arange(7), id_column="id", seed=0)["text"]
    forms = {
        re.sub(r"[0-9]", "0", re.sub(r"[A-Z]", "A", re.sub(r"[a-z]", "a", str(each)))) for each in made_up
    }
    assert forms <= {"0 00 A-a.a", "Aaaa", "aaa aa", "aaa a", "", "aaaaaaaaa", "aaa", "A0"}
    assert any(not isinstance(each, str) for each in made_up)


@pytest.mark.parametrize(("rows", "public"), [(1, 1), (5, 0), (5, 1), (2, 2)])
def test_labels_can_be_made_up_for_few_rows(rows, public):
    truth = {"id": np.arange(rows), "number": np.linspace(0, 1, rows), "is": np.arange(rows) % 2 == 0}
    made_up = made_up_truth(truth, np.arange(public), id_column="id")
    assert {name: len(values) for name, values in made_up.items()} == dict.fromkeys(truth, rows)
    assert rows < 3 or not set(made_up["number"].tolist()) & set(truth["number"].tolist())


def test_slow_metric_ends_at_its_limit(sandboxes):
    metric, truth = one_column(sandboxes, "def grade(submission, answers):\n    while True: pass")
    metric = replace(metric, settings=replace(metric.settings, limits=CallLimits(seconds=0.2)))
    with pytest.raises(MetricFailed, match="takes too long"):
        score(metric, truth, np.zeros(ROWS))


LOCKED = """
import numpy as np
def score(solution, submission, row_id_column_name):
    from sklearn import metrics
    t, p = (solution["target"] > 3).astype(int), submission["prediction"]
    hard = (p > 0.5).astype(int)
    values = [
        metrics.roc_auc_score(t, p), metrics.log_loss(t, p), metrics.f1_score(t, hard, average="macro"),
        metrics.cohen_kappa_score(t, hard), metrics.silhouette_score(np.c_[t, p], hard),
        metrics.ndcg_score([t], [p]), float(len(metrics.classification_report(t, hard))),
    ]
    from scipy import optimize, spatial, stats
    values += [stats.spearmanr(t, p)[0], stats.ks_2samp(t, p)[0], stats.wasserstein_distance(t, p)]
    values += [spatial.cKDTree(np.c_[t, p]).query([0, 0])[0]]
    values += [float(optimize.linear_sum_assignment(np.outer(t, p))[0].sum()), stats.entropy([0.5, 0.5])]
    merged = solution.merge(submission, on=row_id_column_name)
    merged = merged.groupby("target")["prediction"].agg(["mean", "std"])
    values += [merged["mean"].sum(), solution.pivot_table(index="target", aggfunc="size").sum()]
    values += [solution.rolling(3)["target"].mean().sum(), submission.rank().sum().sum()]
    assert np.isfinite(values).all(), values
    return float(np.sum(values))
"""


def test_settings_are_stored_as_json():
    columns = [ColumnSpec("a", ColumnKind.CLASS), ColumnSpec("b", lowest=0)]
    before = PythonSettings(
        truth=tuple(columns), direction=Direction.LOWEST, whole=frozenset({"b"}), arguments={"beta": 2}
    )
    assert PythonSettings.from_dict(json.loads(json.dumps(before.as_dict()))) == before


CLOSENESS = """
def score(solution, submission, row_id_column_name):
    return 1 - float((solution["target"] - submission["prediction"]).abs().mean())
"""


def test_groups_are_in_the_score_of_a_metric_that_is_declared_to_be_never_negative(sandboxes):
    signed, truth = one_column(sandboxes, CLOSENESS)
    rules = GroupRules(("country",), 0.5, (("country", "A"), ("country", "B")))
    truth["country"] = np.array(["A", "B", "B"] * (ROWS // 3), dtype=object)
    with pytest.raises(ValueError, match="worst group"):
        GroupedMetric(signed, rules)
    grouped = GroupedMetric(replace(signed, settings=replace(signed.settings, nonnegative=True)), rules)
    prepared = grouped.prepare(truth, np.arange(ROWS))
    is_b = truth["country"] == "B"
    result = grouped.score(prepared, grouped.encode({"prediction": truth["target"] + 0.5 * is_b}))
    assert result.score == pytest.approx(0.5 * 2 / 3 + 0.5 * ((1 + 2**5) / 2) ** -0.2)
    with pytest.raises(MetricFailed) as failed:
        grouped.score(prepared, grouped.encode({"prediction": truth["target"] + 2 * is_b}))
    assert failed.value.status is CallStatus.NEGATIVE
    metric = replace(signed, settings=replace(signed.settings, nonnegative=True))
    made_up = metric.prepare(truth, np.arange(ROWS))
    assert metric.check_file(made_up, {"prediction": truth["target"]}) is None
    assert "negative" in (metric.check_file(made_up, {"prediction": truth["target"] + 2}) or "")


def test_zygote_has_one_thread_and_its_own_network(complete_sandbox):
    complete_sandbox.start()
    assert complete_sandbox._process is not None
    process = Path("/proc", str(complete_sandbox._process.pid))
    assert "Threads:\t1\n" in (process / "status").read_text()
    if "namespaces" in layers().in_force:
        assert (process / "ns/net").readlink() != Path("/proc/self/ns/net").readlink()


def test_lazy_imports_of_the_packages_work(sandboxes, complete_sandbox):
    metric, truth = one_column(sandboxes, LOCKED)
    metric = replace(metric, sandbox=complete_sandbox)
    prediction = np.random.default_rng(0).uniform(0.01, 0.99, ROWS)
    try:
        assert score(metric, truth, prediction) > 0
    except MetricFailed as failed:
        pytest.fail(failed.log)
