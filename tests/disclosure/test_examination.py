"""Leak check of files: containers, disguised labels, harmless files."""

import bz2
import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from grader.disclosure import Examined, Hidden, HiddenValues, TargetKind, examine
from grader.disclosure.source import Budget

ROWS = 600
RANDOM = np.random.default_rng(5)
IDS = [str(7_000_000 + number) for number in RANDOM.permutation(ROWS)]
LABELS = np.where(
    RANDOM.random(ROWS) < 0.4, RANDOM.choice([0.5, 0.8, 1.0], ROWS), RANDOM.choice([0.0, 0.2], ROWS)
)
MUSLIM = np.where(RANDOM.random(ROWS) < 0.2, 1.0, 0.0)
USAGE = RANDOM.choice(np.array([0, 1, 2], np.int8), ROWS, p=[0.1, 0.3, 0.6])
WORDS = np.array(["Ignored", "Public", "Private"])[USAGE]
TRUE = LABELS >= 0.5
LABEL, IDENTITY, SPLIT = (
    (TargetKind.LABEL, "toxicity"),
    (TargetKind.IDENTITY, "muslim"),
    (TargetKind.USAGE, "Usage"),
)


@pytest.fixture(scope="module")
def hidden() -> Hidden:
    return Hidden.of(
        IDS, label=("toxicity", LABELS), other_labels={}, identities={"muslim": MUSLIM}, usage=USAGE
    )


def frame(**columns) -> pd.DataFrame:
    return pd.DataFrame({"id": IDS, **columns})


def csv(table: pd.DataFrame, **options) -> bytes:
    return str(table.to_csv(index=False, **options)).encode()


def found(hidden: Hidden, data: bytes) -> set[tuple[TargetKind, str]]:
    examined = examine(io.BytesIO(data), hidden)
    assert examined.unopened == ()
    return {(each.kind, name) for each in examined.disclosures for name in each.names}


def zipped(**files: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{"nested": {"key": row["id"]}, "values": [0, row["x"]]} for row in table.to_dict("records")]


CONTAINERS: dict[str, Callable[[pd.DataFrame], bytes]] = {
    "csv": csv,
    "semicolons": lambda table: csv(table, sep=";"),
    "spaces": lambda table: csv(table, sep=" "),
    "tsv": lambda table: csv(table, sep="\t"),
    "quoted": lambda table: csv(table, quoting=1, lineterminator="\r\n"),
    "without a header": lambda table: csv(table, header=False),
    "gzip": lambda table: gzip.compress(csv(table)),
    "zip": lambda table: zipped(readme=b"Have fun.", x=csv(table)),
    "json lines": lambda table: str(table.to_json(orient="records", lines=True)).encode(),
    "json lines in zip": lambda table: zipped(x=str(table.to_json(orient="records", lines=True)).encode()),
    "nested json lines": lambda table: "\n".join(map(json.dumps, records(table))).encode(),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_label_under_another_name_and_order_is_found_in_every_container(hidden: Hidden, container: str):
    table = frame(x=LABELS).sample(frac=1, random_state=1)
    assert LABEL in found(hidden, CONTAINERS[container](table))


def test_json_lines_are_recognized_by_a_first_line_of_any_length(hidden: Hidden):
    table = frame(x=LABELS, text="t" * 20_000).iloc[:200]
    assert LABEL in found(hidden, str(table.to_json(orient="records", lines=True)).encode())


DISGUISES: dict[str, tuple[Any, tuple[TargetKind, str]]] = {
    "as it is": (LABELS, LABEL),
    "true or false": (TRUE, LABEL),
    "inverted": (1 - LABELS, LABEL),
    "scaled": (100 * LABELS + 3, LABEL),
    "scaled with noise": (50 * TRUE + RANDOM.random(ROWS), LABEL),
    "texts": (np.where(TRUE, "toxic", "clean"), LABEL),
    "blank or not": (np.where(TRUE, "x", ""), LABEL),
    "one in a hundred wrong": (TRUE ^ (np.arange(ROWS) % 200 == 0), LABEL),
    "an identity": (MUSLIM, IDENTITY),
    "the split": (WORDS, SPLIT),
    "the split as letters": (np.array(["c", "a", "b"])[USAGE], SPLIT),
    "is it public": (USAGE == 1, SPLIT),
}


@pytest.mark.parametrize("disguise", DISGUISES)
def test_disclosing_column_is_found_in_any_notation(hidden: Hidden, disguise: str):
    values, expected = DISGUISES[disguise]
    table = frame(text=[f"comment {n}" for n in range(ROWS)], length=RANDOM.integers(5, 99, ROWS), x=values)
    assert found(hidden, csv(table.sample(frac=1, random_state=2))) == {expected}


def test_only_the_agreeing_column_is_named_with_its_rows(hidden: Hidden):
    (told,) = examine(io.BytesIO(csv(frame(f1=RANDOM.random(ROWS), k9=MUSLIM))), hidden).disclosures
    assert (told.column, told.kind, told.names, told.rows) == ("k9", TargetKind.IDENTITY, ("muslim",), ROWS)


@pytest.mark.parametrize("with_header", [True, False])
@pytest.mark.parametrize("order", ["solution", "text", "public", "scored"])
def test_labels_without_ids_are_found_by_their_order(hidden: Hidden, order: str, with_header: bool):
    rows = {
        "solution": np.arange(ROWS),
        "text": np.argsort(np.array(IDS)),
        "public": np.flatnonzero(USAGE == 1),
        "scored": np.flatnonzero(USAGE != 0),
    }[order]
    lines = [*(["x"] if with_header else []), *map(str, LABELS[rows])]
    assert LABEL in found(hidden, "\n".join(lines).encode())


def test_ids_sorted_by_label_or_split_disclose_it(hidden: Hidden):
    for values, expected in ((LABELS, LABEL), (USAGE, SPLIT)):
        table = frame().iloc[np.argsort(values, kind="stable")]
        assert expected in found(hidden, csv(table))


def test_selection_of_ids_discloses_the_split(hidden: Hidden):
    assert found(hidden, csv(frame()[USAGE == 1])) == {SPLIT}
    assert found(hidden, csv(frame()[TRUE])) == {LABEL}


def test_folders_named_by_the_label_disclose_it(hidden: Hidden):
    files = {
        f"{'bad' if true else 'good'}/{row_id}.txt": b"hi" for row_id, true in zip(IDS, TRUE, strict=True)
    }
    assert LABEL in found(hidden, zipped(**files))


def archive(kind: str, true: NDArray[np.bool_]) -> bytes:
    """Return a ZIP whose members have a size, time, order or position in the file that follows a label."""
    packed, places = io.BytesIO(), np.arange(ROWS)
    order = np.argsort(true, kind="stable") if kind in ("order", "position") else places
    with zipfile.ZipFile(packed, "w") as target:
        for place in order:
            is_true = int(true[place])
            day = 1 + is_true if kind == "time" else 1
            member = zipfile.ZipInfo(f"{IDS[place]}.txt", (2026, 1, day, place % 24, 0, 0))
            target.writestr(member, b"x" * (100 + place % 50 + (is_true and kind == "size") * 60))
        if kind == "position":
            target.filelist.sort(key=lambda member: member.filename)
    return packed.getvalue()


@pytest.mark.parametrize("kind", ["size", "time", "order", "position"])
def test_members_of_an_archive_can_disclose_the_label_without_their_names(hidden: Hidden, kind: str):
    assert found(hidden, archive(kind, TRUE)) == {LABEL}
    assert found(hidden, archive(kind, RANDOM.permutation(TRUE))) == set()


@pytest.mark.parametrize(
    "table",
    [
        frame(text=[f"comment {n}" for n in range(ROWS)]),
        frame(constant=1, empty=""),
        frame(guess=np.where(RANDOM.random(ROWS) < 0.1, ~TRUE, TRUE)),
        frame(score=LABELS + RANDOM.normal(0, 0.3, ROWS)),
        frame(text=RANDOM.choice(["a", "b", "c"], ROWS), number=RANDOM.integers(0, 16, ROWS)),
        frame(unique=RANDOM.permutation(ROWS)),
        pd.DataFrame({"id": np.arange(ROWS), "toxicity": LABELS}).sample(frac=1, random_state=3),
        pd.DataFrame({"id": np.arange(20 * ROWS), "toxicity": RANDOM.integers(0, 2, 20 * ROWS)}),
        frame(text="hi").iloc[:50],
        frame(prediction=0.5),
    ],
    ids=[
        "a test file",
        "constants",
        "a good guess",
        "a correlated feature",
        "few categories",
        "as many values as rows",
        "as many training rows with other ids",
        "a training file",
        "an example",
        "a sample submission",
    ],
)
def test_correlated_column_or_other_ids_pass(hidden: Hidden, table: pd.DataFrame):
    assert found(hidden, csv(table)) == set()


def test_agreement_of_a_few_rows_passes_but_not_of_many(hidden: Hidden):
    for rows, is_found in ((4, False), (100, True)):
        assert bool(found(hidden, csv(frame(x=TRUE).iloc[:rows]))) == is_found


def test_second_solution_is_also_searched_for():
    usage = np.ones(ROWS, np.int8)
    one, other = RANDOM.random(ROWS).round(), RANDOM.random(ROWS).round()
    options: dict[str, Any] = {"other_labels": {}, "identities": {}}
    order = RANDOM.permutation(ROWS)
    second = Hidden.of([IDS[place] for place in order], label=("new", other[order]), usage=usage, **options)
    both = Hidden.of(IDS, label=("old", one), usage=usage, **options).with_other(second)
    assert found(both, csv(frame(x=one))) == {(TargetKind.LABEL, "old")}
    assert found(both, csv(frame(x=other))) == {(TargetKind.LABEL, "new")}
    assert found(both, "\n".join(map(str, other[order])).encode()) == {(TargetKind.LABEL, "new")}


def unopened(hidden: Hidden, data: bytes, **options) -> tuple[Examined, list[str]]:
    examined = examine(io.BytesIO(data), hidden, **options)
    return examined, [f"{each.name}: {each.reason}" for each in examined.unopened]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\0\1\2\3" * 100, "not text"),
        (b"PK\x03\x04" + b"x" * 100, "damaged"),
        (gzip.compress(csv(frame(x=1)))[:-200], "damaged"),
        (b"PAR1" + b"x" * 100 + b"PAR1", "Parquet files are not checked"),
        (csv(frame(x=LABELS)).decode().encode("utf-16"), "UTF-16"),
        (bz2.compress(csv(frame(x=LABELS))), "not text"),
        (lzma.compress(csv(frame(x=LABELS))), "not text"),
        (b"%PDF-1.7\n", "PDF"),
        (b"<?xml version='1.0'?><x/>", "XML"),
        (gzip.compress(gzip.compress(csv(frame(x=LABELS)))), "compressed files in other archives"),
        (gzip.compress(zipped(x=csv(frame(x=LABELS)))), "compressed files in other archives"),
        (str(frame(x=LABELS).to_json(orient="records")).encode(), "only JSON Lines"),
        (str(frame(x=LABELS).to_json()).encode(), "only JSON Lines"),
        (b"{" + b'"a":' * 50, "only JSON Lines"),
        (b"[" * 100_000, "only JSON Lines"),
    ],
)
def test_unopened_parts_are_named(hidden: Hidden, data: bytes, reason: str):
    examined, told = unopened(hidden, data)
    assert examined.disclosures == ()
    assert len(told) == 1 and reason in told[0], told


def test_decompression_bomb_is_stopped_at_its_limit(hidden: Hidden):
    bomb = gzip.compress(b"0,0\n" * 20_000_000)
    examined, told = unopened(hidden, bomb, budget=Budget(5_000_000))
    assert examined.disclosures == ()
    assert any("more than 0.0 GB of unpacked data" in each for each in told)


def test_empty_file_discloses_nothing(hidden: Hidden):
    for data in (b"", b"\n", b"id\n", b"{}\n{}\n", gzip.compress(b""), zipped()):
        assert found(hidden, data) == set()


def test_late_evidence_in_a_sorted_file_is_found():
    rows = 30_000
    random = np.random.default_rng(3)
    ids, label = [f"r{n}" for n in range(rows)], (random.random(rows) < 0.1).astype(float)
    large = Hidden.of(
        ids,
        label=("y", label),
        other_labels={},
        identities={},
        usage=random.choice(np.array([1, 2], np.int8), rows),
    )
    noise = random.random(rows)
    table = pd.DataFrame(
        {"id": ids, "x": 9 * label + noise, "noise": noise, "text": [f"t {n}" for n in range(rows)]}
    )
    shuffled = table.sample(frac=1, random_state=1)
    for each in (shuffled, shuffled.sort_values("x")):
        told = examine(io.BytesIO(csv(each)), large).disclosures
        assert ("x", ("y",), rows) in {(found.column, found.names, found.rows) for found in told}
        assert not {"noise", "text"} & {found.column for found in told}


CITIES = np.random.default_rng(8).choice([f"city {number}" for number in range(300)], ROWS)
NUMBERS = np.random.default_rng(9).lognormal(3, 2, ROWS)


@pytest.mark.parametrize(
    ("column", "is_found"),
    [
        (CITIES, True),
        (pd.factorize(CITIES)[0], True),
        (np.char.upper(CITIES), True),
        (NUMBERS, True),
        (NUMBERS.round(1), True),
        (-np.log(NUMBERS), True),
        (np.where(np.arange(ROWS) % 101 == 0, 0, NUMBERS), True),
        (NUMBERS * np.random.default_rng(10).lognormal(0, 0.5, ROWS), False),
    ],
)
def test_copies_of_many_classes_and_of_numbers_are_found(column: NDArray[Any], is_found: bool):
    codes = np.unique(CITIES, return_inverse=True)[1]
    columns = [HiddenValues("city", codes, CITIES.tolist()), HiddenValues("price", NUMBERS)]
    names = {"city"} if column.dtype.kind in "Ui" else {"price"}
    told = found(Hidden.of_columns(IDS, columns, USAGE), csv(frame(x=column)))
    assert {name for kind, name in told if kind is TargetKind.LABEL} == (names if is_found else set())
