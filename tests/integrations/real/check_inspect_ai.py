"""The metric `bias` in an evaluation of inspect_ai, with stored outputs instead of a model."""

import logging
import math

import numpy as np
import pytest
from inspect_ai import Task, score
from inspect_ai import eval as run_evaluation
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import SampleScore, Score, Scorer, Target, mean, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from fairboard import MetricSettings, bias_report, prepare
from fairboard.inspect_ai import bias
from grader.metrics.bias.analysis.influence import Sets
from grader.metrics.bias.analysis.intervals import uncertainty_report
from grader.metrics.bias.report_tables import flat

RNG = np.random.default_rng(2)
LABELS, CATS = RNG.integers(0, 2, 60).tolist(), RNG.random(60).round(1).tolist()
DOGS = [None if value < 0.3 else bool(value > 0.6) for value in RNG.random(60)]
PREDICTIONS = RNG.random(60).round(3).tolist()
GROUPS = {"cat": CATS, "dog": [bool(dog) for dog in DOGS]}
REPORT, SPLIT = bias_report(LABELS, PREDICTIONS, GROUPS), prepare(LABELS, GROUPS)


@scorer(metrics=[bias(["cat", "dog"], "toxic", cells=True), mean()])
def probability() -> Scorer:
    """Score a sample by the number that the model returned."""

    async def measure(state: TaskState, target: Target) -> Score:
        return Score(value=float(state.output.completion))

    return measure


@solver
def stored() -> Solver:
    """Set the output of a sample without a model."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = ModelOutput.from_content("stored", str(PREDICTIONS[int(state.sample_id)]))
        return state

    return solve


def task() -> Task:
    rows = zip(LABELS, CATS, DOGS, strict=True)
    samples = [
        Sample(input=f"comment {place}", id=place, metadata={"toxic": label, "cat": cat, "dog": dog})
        for place, (label, cat, dog) in enumerate(rows)
    ]
    return Task(dataset=MemoryDataset(samples), solver=stored(), scorer=probability())


def test_an_evaluation_reports_the_values_of_the_bias_report(tmp_path):
    (log,) = run_evaluation(task(), model=None, log_dir=str(tmp_path), display="none")
    assert log.status == "success", log.error
    for stored in (
        log,
        read_eval_log(log.location),
        score(log, probability(), action="overwrite", display="none"),
    ):
        metrics = [each for result in stored.results.scores for each in result.metrics.items()]
        found = {name: metric.value for name, metric in metrics}
        assert found.pop("mean") == pytest.approx(np.mean(PREDICTIONS))
        assert found.pop("score_stderr") == uncertainty_report(Sets(SPLIT), PREDICTIONS).score.standard_error
        assert found == flat(REPORT)


def test_settings_are_stored_in_the_log_and_used_again(tmp_path):
    settings = {"label_threshold": 1, "identity_threshold": 0.7, "power": -2.0, "undefined": "skip"}

    @scorer(metrics=[bias(["cat", "dog"], "toxic", settings=settings, cells=True)])
    def strict() -> Scorer:
        return probability()

    arguments = task()
    (log,) = run_evaluation(
        Task(dataset=arguments.dataset, solver=stored(), scorer=strict()),
        model=None,
        log_dir=str(tmp_path),
        display="none",
    )
    expected = flat(bias_report(LABELS, PREDICTIONS, GROUPS, settings=MetricSettings.from_dict(settings)))
    for each in (log, score(read_eval_log(log.location), strict(), action="overwrite", display="none")):
        found = {name: metric.value for name, metric in each.results.scores[0].metrics.items()}
        del found["score_stderr"]
        assert found == expected
    (definition,) = read_eval_log(log.location).eval.scorers[0].metrics
    assert definition.options["settings"] == settings
    with pytest.raises(ValueError, match="Unknown metric settings: threshold"):
        bias(["cat"], settings={"threshold": 0.8})
    with pytest.raises(
        TypeError, match=r"`settings` must be a mapping, such as MetricSettings\(...\)\.as_dict"
    ):
        bias(["cat"], settings=MetricSettings())


def samples(*rows) -> list[SampleScore]:
    return [
        SampleScore(score=Score(value=value), sample_id=place, sample_metadata=data)
        for place, (value, data) in enumerate(rows)
    ]


def test_undefined_values_are_nan_with_the_reason_in_the_log(caplog):
    rows = samples((0.5, {"label": 1, "cat": 1}), (0.2, {"label": 0, "cat": 0}))
    with caplog.at_level(logging.WARNING, "fairboard.inspect_ai"):
        found = bias(["cat"])(rows)
    assert found["overall_auc"] == 1.0
    assert math.isnan(found["score"])
    assert set(found) == {
        "score",
        "score_stderr",
        "overall_auc",
        "mean_subgroup_auc",
        "mean_bpsn_auc",
        "mean_bnsp_auc",
    }
    assert math.isnan(found["score_stderr"])
    assert all(map(math.isnan, bias(["cat"])([]).values()))
    assert "bpsn_auc of cat is undefined" in caplog.text
    assert bias("cat")(rows)["overall_auc"] == 1.0


def test_all_wrong_samples_are_listed():
    rows = samples(("C", {"label": 1, "cat": 1}), (0.2, {"label": "yes"}), (float("inf"), None))
    with pytest.raises(ValueError, match="requires numbers") as told:
        bias(["cat"])(rows)
    for part in (
        "0 (score value is 'C')",
        "1 (label is 'yes')",
        "1 (cat is 'missing')",
        "2 (score value is inf)",
    ):
        assert part in str(told.value)


def test_copies_of_samples_in_clusters_do_not_shrink_the_standard_error():
    rows = [
        (value, {"label": label, "cat": cat, "author": f"author {author}"})
        for author, (value, label, cat) in enumerate(zip(PREDICTIONS, LABELS, CATS, strict=True))
    ]
    once = bias(["cat"])(samples(*rows))["score_stderr"]
    copied = bias(["cat"])(samples(*rows * 4))["score_stderr"]
    clustered = bias(["cat"], cluster="author")(samples(*rows * 4))["score_stderr"]
    assert copied == pytest.approx(once / 2, rel=0.1)
    assert clustered == pytest.approx(once, rel=0.1)
    alone = bias(["cat"], cluster="thread")(samples(*rows))["score_stderr"]
    assert alone == pytest.approx(once, rel=1e-6)


@pytest.mark.parametrize(("output", "epochs"), [("0.5", 1), ("0.5", 3), ("N", 1), ("toxic", 1)])
def test_an_evaluation_of_texts_fails_and_one_of_epochs_uses_the_mean_prediction(tmp_path, output, epochs):
    answers = iter([0.25, 0.5, 0.75] * 60)

    @scorer(metrics=[bias(["cat"], "toxic")])
    def answer() -> Scorer:
        async def measure(state: TaskState, target: Target) -> Score:
            if output == "0.5":
                return Score(value=PREDICTIONS[int(state.sample_id)] + (next(answers) if epochs > 1 else 0.5))
            return Score(value=output if state.sample_id == 7 else 0.5)

        return measure

    (log,) = run_evaluation(
        Task(dataset=task().dataset, solver=stored(), scorer=answer()),
        model=None,
        log_dir=str(tmp_path),
        display="none",
        epochs=epochs,
        max_samples=1,
    )
    if output == "0.5":
        found = {name: metric.value for name, metric in log.results.scores[0].metrics.items()}
        assert len(log.results.scores) == 1
        if epochs == 1:
            assert found["score"] == bias_report(LABELS, PREDICTIONS, {"cat": CATS}).score
        assert 0 < found["overall_auc"] < 1
    else:
        assert log.status == "error"
        assert f"7 (score value is '{output}')" in log.error.message
