"""Leak check of files: containers, disguised labels, harmless files."""

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from grader.disclosure.examination import examine
from grader.disclosure.findings import Hidden, TargetKind

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
def hidden():
    return with_labels({"toxicity": LABELS}, {"muslim": MUSLIM})


def with_labels(labels, identities=None):
    columns = {(TargetKind.LABEL, name): values for name, values in labels.items()}
    columns |= {(TargetKind.IDENTITY, name): values for name, values in (identities or {}).items()}
    return Hidden(IDS, columns | {SPLIT: USAGE})


def frame(**columns):
    return pd.DataFrame({"id": IDS, **columns})


def csv(table, **options):
    return str(table.to_csv(index=False, **options)).encode()


def found(hidden, data):
    examined = examine(io.BytesIO(data), [hidden])
    assert not examined.unopened
    return {(each.kind, each.name) for each in examined.disclosures}


def zipped(**files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()


def records(table):
    return [{"nested": {"key": row["id"]}, "values": [0, row["x"]]} for row in table.to_dict("records")]


CONTAINERS: dict[str, Callable[[pd.DataFrame], bytes]] = {
    "csv": csv,
    "semicolons": lambda table: csv(table, sep=";"),
    "tsv": lambda table: csv(table, sep="\t"),
    "without a header": lambda table: csv(table, header=False),
    "row names": lambda table: b"id,x\n" + csv(table.reset_index(), header=False),
    "a delimiter too many": lambda table: csv(table).replace(b"\n", b",\n").replace(b",\n", b"\n", 1),
    "gzip": lambda table: gzip.compress(csv(table)),
    "zip": lambda table: zipped(readme=b"Have fun.", x=csv(table)),
    "json lines": lambda table: str(table.to_json(orient="records", lines=True)).encode(),
    "nested json lines": lambda table: "\n".join(map(json.dumps, records(table))).encode(),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_label_under_another_name_and_order_is_found_in_every_container(hidden, container):
    table = frame(x=LABELS).sample(frac=1, random_state=1)
    assert LABEL in found(hidden, CONTAINERS[container](table))


DISGUISES: dict[str, tuple[Any, tuple[TargetKind, str]]] = {
    "as it is": (LABELS, LABEL),
    "true or false": (TRUE, LABEL),
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
def test_disclosing_column_is_found_in_any_notation(hidden, disguise):
    values, expected = DISGUISES[disguise]
    table = frame(text=[f"comment {n}" for n in range(ROWS)], length=RANDOM.integers(5, 99, ROWS), x=values)
    assert found(hidden, csv(table.sample(frac=1, random_state=2))) == {expected}


def test_ids_sorted_by_label_or_split_disclose_it(hidden):
    for values, expected in ((LABELS, LABEL), (USAGE, SPLIT)):
        table = frame().iloc[np.argsort(values, kind="stable")]
        assert expected in found(hidden, csv(table))


HARMLESS = {
    "a test file": frame(text=[f"comment {n}" for n in range(ROWS)]),
    "constants": frame(constant=1, empty=""),
    "a good guess": frame(guess=np.where(RANDOM.random(ROWS) < 0.1, ~TRUE, TRUE)),
    "a correlated feature": frame(score=LABELS + RANDOM.normal(0, 0.3, ROWS)),
    "few categories": frame(text=RANDOM.choice(["a", "b", "c"], ROWS), number=RANDOM.integers(0, 16, ROWS)),
    "as many values as rows": frame(unique=RANDOM.permutation(ROWS)),
    "other ids": pd.DataFrame({"id": np.arange(ROWS), "toxicity": LABELS}).sample(frac=1, random_state=3),
    "an example": frame(text="hi").iloc[:50],
}


@pytest.mark.parametrize("name", HARMLESS)
def test_correlated_column_or_other_ids_pass(hidden, name):
    assert found(hidden, csv(HARMLESS[name])) == set()


def test_agreement_of_a_few_rows_passes_but_not_of_many(hidden):
    for rows, is_found in ((4, False), (100, True)):
        assert bool(found(hidden, csv(frame(x=TRUE).iloc[:rows]))) == is_found


def test_second_solution_is_also_searched_for():
    values = [RANDOM.random(ROWS).round() for _ in "ab"]
    both = [with_labels({"y": each}) for each in values]
    for each in values:
        (disclosure,) = examine(io.BytesIO(csv(frame(x=each))), both).disclosures
        assert (disclosure.column, disclosure.name) == ("x", "y")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\0\1\2\3" * 100, "only CSV"),
        (b"PK\x03\x04" + b"x" * 100, "reading it failed"),
        (gzip.compress(csv(frame(x=1)))[:-200], "reading it failed"),
        (b"PAR1" + b"x" * 100 + b"PAR1", "only CSV"),
        (csv(frame(x=LABELS)).decode().encode("utf-16"), "only CSV"),
        (b"%PDF-1.7\n", "only CSV"),
        (b"<?xml version='1.0'?><x/>", "only CSV"),
        (gzip.compress(zipped(x=csv(frame(x=LABELS)))), "only CSV"),
        (str(frame(x=LABELS).to_json(orient="records")).encode(), "only CSV"),
        (b"{" + b'"a":' * 50, "only CSV"),
    ],
)
def test_unopened_parts_are_named(hidden, data, reason):
    examined = examine(io.BytesIO(data), [hidden])
    assert not examined.disclosures
    (part,) = examined.unopened.values()
    assert reason in part


def test_empty_file_discloses_nothing(hidden):
    for data in (b"", b"\n", b"id\n", b"{}\n{}\n", gzip.compress(b""), zipped()):
        assert found(hidden, data) == set()


CITIES = np.random.default_rng(8).choice([f"city {number}" for number in range(300)], ROWS)
NUMBERS = np.random.default_rng(9).lognormal(3, 2, ROWS)
STARS = RANDOM.choice([1.0, 2.0, 3.0, 4.0, 5.0], ROWS)


@pytest.mark.parametrize(
    ("column", "copied"),
    [
        (CITIES, {"city"}),
        (np.char.upper(CITIES), {"city"}),
        (NUMBERS.round(1), {"price"}),
        (-np.log(NUMBERS), {"price"}),
        (np.where(np.arange(ROWS) % 101 == 0, 0, NUMBERS), {"price"}),
        (NUMBERS * np.random.default_rng(10).lognormal(0, 0.5, ROWS), set()),
        (6 - STARS, {"stars"}),
    ],
)
def test_copies_of_many_classes_and_of_numbers_are_found(column, copied):
    disclosed = found(with_labels({"city": CITIES, "price": NUMBERS, "stars": STARS}), csv(frame(x=column)))
    assert {name for kind, name in disclosed if kind is TargetKind.LABEL} == copied


def test_preview_has_the_first_rows_and_the_statistics_of_the_columns(hidden):
    table = pd.DataFrame({"id": IDS[:3], "score": ["1", "", "4"], "text": ["a\0", "b" * 100, "c"]})
    preview = examine(io.BytesIO(csv(table)), [hidden]).preview
    assert preview is None  # NUL is not text
    table["text"] = ["a\u202e", "b" * 100, "c"]
    preview = examine(io.BytesIO(csv(table)), [hidden]).preview
    assert preview is not None
    assert (preview["rows"], preview["column_count"]) == (3, 3)
    assert preview["columns"][1] == {
        "name": "score", "blank": 1, "distinct": 2, "low": "1", "mean": "2.5", "high": "4",
    }  # fmt: skip
    assert [row[2] for row in preview["first"]] == ["a", "b" * 80, "c"]
