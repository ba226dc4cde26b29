"""Examples of docs/integrations.md that need packages outside the development environment."""

import re
from pathlib import Path
from typing import Any

import pytest

CHAPTER = Path(__file__).parents[3] / "docs" / "integrations.md"
BLOCKS = [
    block
    for block in re.findall(r"```python\n(.*?)```", CHAPTER.read_text(), re.DOTALL)
    if ">>>" not in block
]


def names_of(word: str) -> dict[str, Any]:
    """Run the only example that contains a word, and return its variables."""
    (block,) = [each for each in BLOCKS if word in each]
    names: dict[str, Any] = {}
    exec(block, names)
    return names


def test_the_fairlearn_example_runs():
    names = names_of("BiasFrame")
    assert names["frame"].by_group.shape == (2, 2)


def test_the_evaluate_example_runs():
    assert names_of("evaluate.load")["result"]["score"] is not None


def test_the_inspect_ai_example_runs(tmp_path, monkeypatch):
    from inspect_ai import eval as run_evaluation
    from inspect_ai.solver import solver

    @solver
    def no_model():
        async def solve(state, generate):
            return state

        return solve

    monkeypatch.chdir(tmp_path)
    (log,) = run_evaluation(
        names_of("inspect_ai")["toxicity"](), model=None, solver=no_model(), display="none"
    )
    assert log.status == "success", log.error
    assert log.results.scores[0].metrics["overall_auc"].value == 1.0


def test_the_torchmetrics_example_runs():
    torch = pytest.importorskip("torch")
    pytest.importorskip("torchmetrics")
    metric = names_of("BiasMetric")["metric"]
    assert torch.isnan(metric.compute())  # no positive row outside the identity
    metric.update(torch.tensor([0.4, 0.2]), torch.tensor([1, 0]), torch.tensor([[0], [1]]))
    metric.update(torch.tensor([0.1]), torch.tensor([0]), torch.tensor([[0]]))
    assert metric.compute() == 1.0
