"""Canonical form of a solution: equal digests for equal content."""

import gzip
import hashlib

import numpy as np
import pytest

from grader.files import RowIds, read_solution
from grader.files.solution.canonical_form import canonical_table, digest_of
from grader.services.solutions.truth import Truth

CSV = b"id,target,cat,dog,Usage\n10,1,0.5,,Public\n9,0.25,1,0,Private\nx,0,,1e-1,Ignored\n"
CANONICAL = b"id,label,cat,dog,Usage\n10,1.0,0.5,,Public\n9,0.25,1.0,0.0,Private\nx,0.0,,0.1,Ignored\n"


def _canonical(data):
    solution = read_solution(data)
    return b"".join(Truth.of(solution, solution.usage).canonical(solution.row_ids))


def _digest(data):
    return digest_of([_canonical(data)])


def test_digest_is_the_sha256_of_the_canonical_file():
    assert _canonical(CSV) == CANONICAL
    assert _digest(CSV) == hashlib.sha256(CANONICAL).hexdigest()


@pytest.mark.parametrize(
    "same",
    [
        CANONICAL,
        gzip.compress(CSV),
        b"Usage,dog,id,cat,target\npublic,,10,.5,1.0\nPRIVATE,0,9,1,25e-2\nIgnored,0.10,x,,-0\n",
        b'id,target,cat,dog,Usage\nx,0,,0.1,Ignored\n"9",0.25,1,0,Private\n10,1, 0.5 ,,Public\n',
    ],
    ids=["canonical", "gzip", "columns in another order", "rows in another order"],
)
def test_equal_content_has_an_equal_digest(same):
    assert _digest(same) == _digest(CSV)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"10,1,", b"10,0.9999999999999999,"),
        (b",,Public", b",0,Public"),
        (b"Public", b"Private"),
        (b"x,", b"y,"),
    ],
    ids=["label", "blank", "split", "id"],
)
def test_different_content_has_a_different_digest(old, new):
    assert _digest(CSV.replace(old, new)) != _digest(CSV)


def test_texts_with_commas_and_quotes_are_quoted():
    one = np.ones(1)
    lines = b"".join(canonical_table(['a,"b"'], {"label": one, 'c"d': one}, np.array([2], np.int8)))
    assert lines == b'id,label,"c""d",Usage\n"a,""b""",1.0,1.0,Private\n'


def test_rows_and_identities_are_sorted_by_code_point():
    values = np.arange(3.0)
    ids = ["\U0001f600", "\uff5e", "10"]
    truth = Truth(values, {"b": values, "B": values}, np.zeros(3, np.int8))
    lines = b"".join(truth.canonical(RowIds.of(ids)))
    assert lines.decode().splitlines() == [
        "id,label,B,b,Usage",
        "10,2.0,2.0,2.0,Ignored",
        "\uff5e,1.0,1.0,1.0,Ignored",
        "\U0001f600,0.0,0.0,0.0,Ignored",
    ]
