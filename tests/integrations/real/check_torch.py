"""The accumulator with tensors, and the documented torchmetrics metric in two processes."""

import pytest

torch = pytest.importorskip("torch", reason="torch for CPUs could not be installed here")

import check_documentation  # noqa: E402
import numpy as np  # noqa: E402

from fairboard import bias_report  # noqa: E402
from fairboard.accumulator import BiasAccumulator  # noqa: E402

RNG = np.random.default_rng(4)
LABELS, MATRIX = RNG.integers(0, 2, 200), RNG.random((200, 2)) < 0.5
PREDICTIONS = RNG.random(200).round(2)


@pytest.mark.parametrize("kind", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_tensors_of_each_type_are_exact(kind):
    predictions = torch.tensor(PREDICTIONS, dtype=kind, requires_grad=True)
    found = BiasAccumulator(["cat", "dog"])
    for rows in (slice(0, 90), slice(90, 200)):
        found.update(predictions[rows], torch.tensor(LABELS[rows]), torch.tensor(MATRIX[rows]))
    columns = dict(zip(("cat", "dog"), MATRIX.T, strict=True))
    expected = bias_report(LABELS, predictions.detach().double().numpy(), columns)
    assert found.compute() == expected
    groups = {name: torch.tensor(mentions) for name, mentions in columns.items()}
    assert bias_report(torch.tensor(LABELS), predictions, groups) == expected
    matrix = bias_report(torch.tensor(LABELS), predictions, torch.tensor(MATRIX))
    assert matrix.power_means == expected.power_means


def _measure(rank: int, path: str) -> None:
    torch.distributed.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=2)
    metric = check_documentation.names_of("BiasMetric")["BiasMetric"](["cat", "dog"])
    rows = slice(0, 70) if rank else slice(70, 200)
    metric.update(*(torch.tensor(values[rows]) for values in (PREDICTIONS, LABELS, MATRIX)))
    torch.save(metric.compute(), f"{path}.{rank}")
    torch.distributed.destroy_process_group()


def test_the_documented_torchmetrics_metric_gathers_all_processes(tmp_path):
    pytest.importorskip("torchmetrics")
    torch.multiprocessing.spawn(_measure, (str(tmp_path / "group"),), nprocs=2)
    expected = bias_report(LABELS, PREDICTIONS, dict(zip(("cat", "dog"), MATRIX.T, strict=True)))
    for rank in range(2):
        assert torch.load(tmp_path / f"group.{rank}").item() == expected.score
