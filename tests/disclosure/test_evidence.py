"""Hidden values of a solution, and rows collected while a table is read."""

import io

import numpy as np
import pytest

from grader.disclosure import Disclosure, Examined, Hidden, TargetKind, Unopened, evidence, examine, hidden
from grader.disclosure.evidence import Evidence, Gathered
from grader.disclosure.tables import FileTable


def of(ids: list[str], labels: list[float], usage: list[int], **columns) -> Hidden:
    arrays = {name: np.array(values, np.float64) for name, values in columns.items()}
    return Hidden.of(
        ids,
        label=("y", np.array(labels, np.float64)),
        other_labels={name: values for name, values in arrays.items() if name.startswith("other")},
        identities={name: values for name, values in arrays.items() if not name.startswith("other")},
        usage=np.array(usage, np.int8),
    )


def test_targets_are_the_varying_columns_and_the_split():
    found = of(
        ["a", "b", "c", "d"], [0.5, 0.4, 1, 0], [1, 1, 2, 2], other=[0, 0, 0, 1], all=[1] * 4, no=[0] * 4
    )
    assert [(each.kind, each.name, each.is_true.tolist()) for each in found.targets] == [
        (TargetKind.LABEL, "y", [True, False, True, False]),
        (TargetKind.LABEL, "other", [False, False, False, True]),
        (TargetKind.LABEL, "y", [True, True, True, False]),
        (TargetKind.USAGE, "Usage", [True, True, False, False]),
        (TargetKind.USAGE, "Usage", [False, False, True, True]),
    ]
    assert found.truths.tolist() == [[each.is_true[row] for each in found.targets] for row in found.drawn]
    assert found.index == {found.ids[place]: number for number, place in enumerate(found.drawn)}
    nothing = of(["a", "b"], [1, 1], [2, 2])
    assert (nothing.targets, nothing.truths.shape) == ((), (2, 0))


def test_large_solution_is_sampled(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hidden, "MOST_ROWS", 3)
    found = of(list("abcdefgh"), [0, 1] * 4, [1, 2] * 4)
    assert (len(set(found.drawn.tolist())), found.truths.shape[0], len(found.index)) == (3, 3, 3)
    assert found.numbers.tolist() == [found.index.get(text, -1) for text in found.ids]


def orders(found: Hidden) -> list[list[int]]:
    return sorted(order.tolist() for order in found.orders)


def test_orders_are_those_of_the_solution_texts_and_numbers():
    assert orders(of(["10", "9", "8"], [0, 1, 0], [2, 1, 0])) == [
        *([0], [0, 1], [0, 1, 2], [0, 2, 1], [1], [1, 0], [2, 1, 0])
    ]
    assert [2, 1, 0] not in orders(of(["10", "9", "8x"], [0, 1, 0], [2, 1, 0]))
    assert [2, 1, 0] not in orders(of(["1" + "0" * 18, "9", "8"], [0, 1, 0], [2, 1, 0]))
    assert [2, 1, 0] in orders(of(["1" + "0" * 17, "9", "8"], [0, 1, 0], [2, 1, 0]))


def test_other_solution_of_the_same_ids_adds_its_targets():
    one, other = of(["a", "b", "c"], [0, 0.7, 1], [1, 2, 2]), of(["c", "b", "a"], [0.2, 1, 0], [1, 2, 2])
    both = one.with_other(other)
    assert both.targets[: len(one.targets)] == one.targets
    assert [(each.kind, each.name, each.is_true.tolist()) for each in both.targets[len(one.targets) :]] == [
        (TargetKind.LABEL, "y", [False, True, False]),
        (TargetKind.USAGE, "Usage", [False, False, True]),
        (TargetKind.USAGE, "Usage", [True, True, False]),
    ]
    assert [2, 1, 0] in orders(both) and [2, 1, 0] not in orders(one)
    assert orders(one.with_other(one)) == orders(one)
    assert one.with_other(one).targets == one.targets


def test_first_cells_of_each_row_are_kept():
    kept = Gathered(4)
    kept.add([-1, 2, 2, 0, 4], [["p"], ["5", " a "], ["6"], ["7"], ["q"]], before=10)
    kept.add([2, 1], [["8"], ["9" * 200]], before=15)
    assert (kept.numbers, kept.positions()) == ([2, 0, 1], ["11", "13", "16"])
    assert kept.texts(0, [0, 2, 1]) == ["7", "5", "9" * evidence.CELL_LENGTH]
    assert kept.texts(1, [0, 2]) == ["", "a"]
    assert kept.presence() == ["True", "True", "True", "False"]


def test_fewer_rows_of_wide_tables_are_compared(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(evidence, "MOST_CELLS", 300)
    ids = [f"{row:03}" for row in range(200)]
    labels = np.random.default_rng(1).integers(0, 2, 200).astype(float)
    one = of(ids, labels.tolist(), [1, 2] * 100)
    for columns, rows in ((2, 150), (3, 100), (6, 50)):
        lines = [[row_id, *[str(label)] * (columns - 1)] for row_id, label in zip(ids, labels, strict=True)]
        (gathered,) = _read(one, lines).by_id.values()
        assert (gathered.size, len(gathered.numbers)) == (rows, rows)
        found = examine(io.BytesIO("\n".join(map(",".join, lines)).encode()), one).disclosures
        assert {(each.kind, each.rows) for each in found} == {(TargetKind.LABEL, rows)}
        without_ids = "\n".join(",".join(line[1:]) for line in lines)
        assert examine(io.BytesIO(without_ids.encode()), one).disclosures[0].names == ("y",)


def _read(hidden_values: Hidden, rows: list[list[str]]) -> Evidence:
    read = Evidence(hidden_values)
    read.read(FileTable("", iter(rows)))
    return read


def test_ids_may_have_a_suffix_and_small_integers_are_no_ids():
    one = of([str(row) for row in range(100)], [0, 1] * 50, [1, 2] * 50)
    rows = [[f"{row}.0", f"{row}.txt", str(row % 9), f"x{row}"] for row in range(100)]
    assert list(_read(one, rows).by_id) == [0, 1]


def test_examination_counts_its_input_and_names_the_columns():
    ids = [f"{row:03}" for row in range(200)]
    labels = np.random.default_rng(1).integers(0, 2, 200).astype(float)
    one = of(ids, labels.tolist(), [1, 2] * 100)
    lines = [f"{row_id},{label}" for row_id, label in zip(ids, labels, strict=True)]
    found = examine(io.BytesIO("\n".join(["id,x", *lines]).encode()), one)
    preview = found.preview
    told = (Disclosure("", "x", TargetKind.LABEL, ("y",), 200),)
    assert found == Examined(told, (), 0, tables=1, rows=201, preview=preview)
    assert preview is not None and preview["rows"] == 200
    ordered = [row_id for _, row_id in sorted(zip(labels, ids, strict=True))]
    public = [row_id for place, row_id in enumerate(ids) if place % 2 == 0]
    for rows_of, column, kind, name, compared in (
        (ordered, "the order of its rows", TargetKind.LABEL, "y", 200),
        (public, "which rows are in it", TargetKind.USAGE, "Usage", 200),
    ):
        told = examine(io.BytesIO("\n".join(["id", *rows_of]).encode()), one).disclosures
        assert told == (Disclosure("", column, kind, (name,), compared),)
    (unopened,) = examine(io.BytesIO(b"\x89PNG\0"), one).unopened
    assert isinstance(unopened, Unopened) and "it is not text" in unopened.reason
