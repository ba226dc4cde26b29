"""Zero bytes of truncated copies: detection, counts and messages in every reader."""

import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.files import FileRejected, RowIds, guess_columns, read_public_table, read_solution
from grader.files.reading import zeros
from grader.files.reading.zeros import RUN, first_run, tail_of

ROWS = [f"{n},{n % 2},{n % 3 % 2},text {n}\n" for n in range(2000)]
SOLUTION = ("id,target,female,comment\n" + "".join(ROWS)).encode()
CUT = SOLUTION[:12_288] + bytes(300_000)
LINE = SOLUTION[:12_288].count(b"\n") + 1


def told(read, data: bytes) -> list[str]:
    with pytest.raises(FileRejected) as rejection:
        read(data)
    return [problem.message for problem in rejection.value.problems]


@given(st.lists(st.sampled_from([b"a", b"\n", b"\0", RUN, b"\0" * 40]), max_size=8), st.integers(1, 70))
def test_run_is_found_for_any_block_boundaries(pieces: list[bytes], block: int):
    data = b"".join(pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zeros, "_BLOCK", block)
        run, tail = first_run(io.BytesIO(data)), tail_of(data)
    start = data.find(RUN)
    assert (run is None) == (start < 0)
    if run is not None:
        assert run.start == start
        assert data[start : start + run.length] == bytes(run.length)
        assert data[start + run.length : start + run.length + 1] != b"\0"
        assert run.line == data.count(b"\n", 0, start) + 1
        assert run.line_start == data.rfind(b"\n", 0, start) + 1
        assert run.is_tail == (start + run.length == len(data))
    assert (tail is not None) == data.endswith(RUN)
    if tail is not None:
        assert data[tail.start - 1 : tail.start] != b"\0"
        assert tail.length == len(data) - tail.start
        assert tail.line == data.count(b"\n", 0, tail.start) + 1


@pytest.mark.parametrize("data", [CUT, gzip.compress(CUT)], ids=["plain", "gzip"])
@pytest.mark.parametrize("read", [read_solution, guess_columns])
def test_solution_that_ends_in_zero_bytes_is_reported(read, data: bytes):
    message = told(read, data)[0]
    assert f"ends with 300,000 zero bytes (NUL), starting on line {LINE:,}" in message
    assert "full disk" in message


def test_solution_that_ends_in_few_zero_bytes_is_reported_as_truncated():
    """Use a file whose last column is unused and whose last row would otherwise be complete."""
    (message,) = told(read_solution, SOLUTION.rstrip() + bytes(40))
    assert "ends with 40 zero bytes (NUL), starting on line 2,001" in message


def test_hole_in_a_solution_is_reported_with_the_problems_above_it():
    data = SOLUTION[:12_288].replace(b"\n7,1,", b"\n7,x,") + bytes(4096) + SOLUTION[16_384:]
    hole, label = told(read_solution, data)
    assert f"Line {LINE:,} has 4,096 zero bytes (NUL) in a row" in hole
    assert "Line 9: the label 'target' is 'x'" in label


def test_solution_of_only_zero_bytes_is_reported():
    assert "only 5,000 zero bytes (NUL)" in told(read_solution, bytes(5000))[0]


def test_truncated_table_for_participants_is_reported():
    row_ids = RowIds.of([str(n) for n in range(2000)])
    for data in (CUT, CUT[:12_988]):
        with pytest.raises(FileRejected) as rejection:
            table = read_public_table(data, row_ids, id_column="id")
            raise FileRejected("solution", table.problems)
        assert f"zero bytes (NUL), starting on line {LINE:,}" in rejection.value.problems[0].message
