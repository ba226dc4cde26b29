"""Hidden values of a solution, and column values collected while a table is read."""

import io

import numpy as np
import pytest

from grader.disclosure import Disclosure, Examined, Hidden, Kind, Unopened, evidence, examine, hidden
from grader.disclosure.agreement import MOST_CATEGORIES, Values
from grader.disclosure.evidence import Gathered, _found, _key, _part, _parts, _Wide
from grader.disclosure.tables import chunk_of


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
        (Kind.LABEL, "y", [True, False, True, False]),
        (Kind.LABEL, "other", [False, False, False, True]),
        (Kind.USAGE, "Usage", [True, True, False, False]),
        (Kind.USAGE, "Usage", [False, False, True, True]),
    ]
    values = [None if each.values is None else each.values.tolist() for each in found.targets]
    assert values == [[0.5, 0.4, 1, 0], [0, 0, 0, 1], None, None]
    said = [None if each is None else each.tolist() for each in found.said]
    assert said == [[found.targets[0].values[place] for place in found.drawn], None, None, None]  # type: ignore[index]
    assert found.truths.tolist() == [[each.is_true[row] for each in found.targets] for row in found.drawn]
    assert found.index == {found.ids[place]: number for number, place in enumerate(found.drawn)}
    nothing = of(["a", "b"], [1, 1], [2, 2])
    assert (nothing.targets, nothing.truths.shape) == ((), (2, 0))


def test_large_solution_is_sampled(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hidden, "MOST_ROWS", 3)
    found = of(list("abcdefgh"), [0, 1] * 4, [1, 2] * 4)
    assert (len(set(found.drawn.tolist())), found.truths.shape[0], len(found.index)) == (3, 3, 3)
    numbers = [found.index.get(text, -1) for text in found.ids]
    assert found.numbers.tolist() == numbers


def orders(found: Hidden) -> list[tuple[list[int], bool]]:
    return [(each.places.tolist(), each.is_by_usage) for each in found.orders]


def test_orders_are_those_of_the_solution_texts_and_numbers():
    assert orders(of(["10", "9", "8"], [0, 1, 0], [2, 1, 0])) == [
        ([0, 1, 2], False),
        ([0, 1], False),
        ([1], False),
        ([0], False),
        ([1, 0], True),
        ([1, 0, 2], True),
        ([0, 2, 1], False),
        ([2, 1, 0], False),
    ]
    assert ([2, 1, 0], False) not in orders(of(["10", "9", "8x"], [0, 1, 0], [2, 1, 0]))
    assert ([2, 1, 0], False) not in orders(of(["1" + "0" * 18, "9", "8"], [0, 1, 0], [2, 1, 0]))
    assert ([2, 1, 0], False) in orders(of(["1" + "0" * 17, "9", "8"], [0, 1, 0], [2, 1, 0]))


def test_other_solution_of_the_same_ids_adds_its_targets():
    one, other = of(["a", "b", "c"], [0, 0.7, 1], [1, 2, 2]), of(["c", "b", "a"], [0.2, 1, 0], [1, 2, 2])
    both = one.with_other(other)
    assert both.targets[: len(one.targets)] == one.targets
    added = both.targets[len(one.targets) :]
    assert [(each.kind, each.name, each.is_true.tolist()) for each in added] == [
        (Kind.LABEL, "y", [False, True, False]),
        (Kind.USAGE, "Usage", [False, False, True]),
        (Kind.USAGE, "Usage", [True, True, False]),
    ]
    assert [None if each.values is None else each.values.tolist() for each in added] == [
        [0, 1, 0.2],
        None,
        None,
    ]
    assert orders(both)[: len(one.orders)] == orders(one)
    assert ([2, 1, 0], False) in orders(both) and ([2, 1], True) not in orders(one)
    assert [(each.places.tolist(), each.is_by_usage) for each in one.with_other(one).orders] == orders(one)
    assert one.with_other(one).targets == one.targets


def plain(values: Values) -> tuple[list[int], list[int] | None, list[float] | None]:
    return (
        values.rows.tolist(),
        None if values.codes is None else values.codes.tolist(),
        None if values.numbers is None else np.nan_to_num(values.numbers, nan=-1).tolist(),
    )


def rows(*numbers: int):
    return np.array(numbers, np.intp)


def test_first_value_of_each_row_is_kept():
    kept = Gathered(4)
    assert kept.new(rows(-1, 2, 2, 0, 4)).tolist() == [1, 3]
    kept.note(rows(2, 0), rows(7, 9))
    kept.say("x", rows(2, 0), ["5", "a"])
    assert (kept.count, kept.new(rows(2, 0, 1)).tolist()) == (2, [2])
    assert [(name, plain(values)) for name, values in kept.all()] == [("x", ([0, 2], [2, 1], [-1, 5]))]
    kept.note(rows(1), rows(3))
    kept.say("x", rows(1), [""])
    kept.say("late", rows(1), ["z"])
    assert {name: plain(values) for name, values in kept.all()} == {
        "x": ([0, 1, 2], [2, 0, 1], [-1, -1, 5]),
        "late": ([0, 1, 2], [0, 1, 0], None),
    }
    assert [plain(values) for _, values in kept.all(rows(2))] == [([2], [1], [5]), ([2], [0], None)]
    assert plain(kept.places()) == ([0, 1, 2], None, [9, 3, 7])
    assert plain(kept.presence()) == ([0, 1, 2, 3], [1, 1, 1, 0], None)


@pytest.mark.parametrize("batches", [1, 2])
def test_texts_with_many_distinct_values_are_no_categories(batches: int):
    for kinds, has_codes in ((MOST_CATEGORIES - 1, True), (MOST_CATEGORIES, False)):
        kept = Gathered(kinds)
        kept.note(np.arange(kinds), np.arange(kinds))
        for some in np.array_split(np.arange(kinds), batches):
            kept.say("x", some, [f"t{number}" for number in some])
        ((_, values),) = kept.all()
        assert (values.codes is not None, values.numbers) == (has_codes, None)
        if values.codes is not None:
            assert values.codes.tolist() == list(range(1, kinds + 1))


def test_columns_are_judged_whenever_the_row_count_doubles(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(evidence, "FIRST_JUDGED", 2)
    judged: list[tuple[list[int], list[int] | None, list[float] | None]] = []
    ticks: list[None] = []

    def may_agree(values: Values) -> bool:
        judged.append(plain(values))
        return len(judged) != 4  # This is the second time that the second column is judged.

    kept = Gathered(9, may_agree)
    for row in range(8):
        kept.note(rows(row), rows(row))
        for name in ("x", "y"):
            kept.say(name, rows(row), [str(row)])
        kept.judge(lambda: ticks.append(None))
    lengths = [len(each[0]) for each in judged]
    assert (lengths, len(ticks)) == ([2, 2, 4, 4, 8], 5)
    assert judged[-1] == (list(range(8)), list(range(1, 9)), list(range(8)))
    assert (kept.wants("x"), kept.wants("y"), [name for name, _ in kept.all()]) == (True, False, ["x"])
    assert Gathered(9).judge(lambda: ticks.append(None)) is None and len(ticks) == 5


def test_columns_over_the_memory_limit_keep_only_the_first_rows(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(evidence, "MEMORY_BYTES", 1_000)
    monkeypatch.setattr(evidence, "FEWEST_ROWS", 30)
    kept, every = Gathered(100), np.arange(100)
    kept.note(every, every + 1)
    sizes = []
    for name in "abcd":  # Each column has 900 bytes for 100 rows.
        kept.say(name, every, [str(row) for row in every])
        sizes.append(kept.size)
    assert sizes == [100, 50, 30, 30]
    assert [plain(values) for _, values in kept.all()] == [
        (list(range(30)), None, [float(row) for row in range(30)])
    ] * 4
    assert (kept.count, kept.places().numbers.tolist()) == (30, list(range(1, 31)))  # type: ignore[union-attr]
    assert kept.new(rows(29, 30)).size == 0


def test_joined_values_become_separate_columns():
    cells = [f"{row}|t{row % 3}" for row in range(5)]
    wide = _Wide(chunk_of({"x": cells, "id": list("abcde")}, 5))
    assert wide.names == ["x", "id", "x (part 1)", "x (part 2)"]
    some = rows(4, 0)
    assert [(name, list(texts)) for name, texts in wide.columns("x", some, lambda name: True)] == [
        ("x", ["4|t1", "0|t0"]),
        ("x (part 1)", ["4", "0"]),
        ("x (part 2)", ["t1", "t0"]),
    ]
    assert list(wide.columns("x", some, lambda name: False)) == []
    assert len(list(wide.columns("x", some, lambda name: name == "x (part 2)"))) == 3
    index = {"b": 0, "t1": 1}
    assert [wide.may_hold_ids(name, index) for name in wide.names] == [False, True, False, True]
    assert [wide.numbers(name, index).tolist() for name in wide.names] == [
        [-1] * 5,
        [-1, 0, -1, -1, -1],
        [-1] * 5,
        [-1, 1, -1, -1, 1],
    ]


def test_values_are_split_if_nearly_all_have_equally_many_parts():
    assert [_parts(sample) for sample in ([], ["", ""], ["a|b", ""], ["a"], ["a b.c/d"])] == [0, 0, 2, 0, 3]
    assert [_parts(["a,b"] * size + ["a"]) for size in (8, 9)] == [0, 2]
    assert [_parts([",".join("a" * size)]) for size in (64, 65)] == [64, 0]
    assert [_parts(["a," + "b" * size]) for size in (398, 399)] == [2, 0]
    assert [_part("a|b|c", part) for part in range(4)] == ["a", "b", "c", ""]
    assert [_key(text) for text in ("7.0", "7.", "7.txt", "a")] == ["7", "7", "7", "a"]
    assert _found(["7", "7.00", "x.7", "8.5", "8.5.0"], {"7": 3, "8.5": 1}).tolist() == [3, 3, -1, 1, -1]


def test_examination_counts_its_input_and_names_the_columns():
    ids = [f"{row:03}" for row in range(200)]
    labels = np.random.default_rng(1).integers(0, 2, 200).astype(float)
    one = of(ids, labels.tolist(), [1, 2] * 100)
    lines = [f"{row_id},{label}" for row_id, label in zip(ids, labels, strict=True)]
    found = examine(io.BytesIO("\n".join(["id,x", *lines]).encode()), one)
    preview = found.preview
    told = (Disclosure("", "x", Kind.LABEL, ("y",), 200),)
    assert found == Examined(told, (), 0, tables=1, rows=201, preview=preview)
    assert preview is not None and preview["rows"] == 200
    ordered = [row_id for _, row_id in sorted(zip(labels, ids, strict=True))]
    public = [row_id for place, row_id in enumerate(ids) if place % 2 == 0]
    for rows_of, column, kind, name in (
        (ordered, "the order of its rows", Kind.LABEL, "y"),
        (public, "which rows are in it", Kind.USAGE, "Usage"),
    ):
        told = examine(io.BytesIO("\n".join(["id", *rows_of]).encode()), one).disclosures
        assert told == (Disclosure("", column, kind, (name,), 200),)
    assert examine(io.BytesIO(b"\x89PNG"), one) == Examined(
        (), (Unopened("", "it is an image"),), 1, 0, 0, None
    )
