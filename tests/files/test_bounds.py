"""Resource limits of the readers, and messages that disclose nothing about solutions."""

import csv
import gzip
import io
import random
import re
import tracemalloc
import zipfile

import pytest

from grader.files import (
    FileRejected,
    RowIds,
    read_submission,
    submission_size_cap,
    submission_upload_cap,
)

ROWS = 2000
IDS = [str(7_000_000 + place) for place in range(ROWS)]
HEADER = b"id,prediction\n"
SIZE = 3_000_000


def problems(data, row_ids=None):
    with pytest.raises(FileRejected) as rejection:
        read_submission(data, RowIds.of(IDS) if row_ids is None else row_ids)
    assert rejection.value.file == "submission"
    return rejection.value.problems


def filled(line):
    return HEADER + line * (SIZE // len(line))


def unnamed_entry():
    """Return an archive whose directory contains an entry without a name."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("p", HEADER)
    return re.sub(rb"(?s)(PK\x01\x02.{24})\x01\0\0\0", b"\\1\0\0\1\0", file.getvalue())


HOSTILE = {
    "empty-lines": filled(b"\n") + b"x",
    "one-long-line": filled(b"x"),
    "commas": filled(b","),
    "quotes": filled(b'"'),
    "open-quotes": filled(b'"a\n'),
    "nul-bytes": bytes(SIZE),
    "no-utf8": filled(b"\xff\n"),
    "long-fields": filled(b"1" * 3000 + b"x\n"),
    "random": HEADER + random.Random(0).randbytes(SIZE),
    "headers": filled(HEADER),
    "header-of-commas": b"," * SIZE,
    "trailing-blank-lines": filled(b" \n"),
    "one-id-for-ever": filled(b"7000000,0.5\n"),
    "unnamed-entry": unnamed_entry(),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bytes_are_rejected_in_bounded_memory(name):
    data = HOSTILE[name]
    row_ids = RowIds.of(IDS)
    tracemalloc.start()
    try:
        found = problems(data, row_ids)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 1 <= len(found) <= 20
    assert all(len(problem.lines) <= 5 and len(problem.message) < 1000 for problem in found)
    assert peak < 2 * len(data) + 2_000_000


def test_blanks_behind_a_header_are_no_row():
    rows = b"".join(b"%s,0.5\n" % each.encode() for each in IDS)
    assert read_submission(HEADER.rstrip() + b" " * 20_000 + b"\n" + rows, RowIds.of(IDS)).columns


def test_reading_stops_at_twice_the_expected_rows_with_a_message():
    found = {problem.code: problem.count for problem in problems(filled(b"7000000,0.5\n"))}
    assert found == {"too_many_rows": ROWS + 1000, "duplicate_row_id": 2 * ROWS + 999, "reading_stopped": 1}


def test_hopeless_file_is_not_read_to_the_end():
    found = {problem.code: problem for problem in problems(filled(b"7000000,no\n"))}
    assert found["not_a_number"].count == 3001
    assert found["reading_stopped"].line == 3002


@pytest.mark.parametrize("name", ['a, long "name"' * 30, "7000000"])
def test_file_with_long_clean_lines_is_not_hopeless(name):
    ids = [f"{name}{place}" for place in range(ROWS)]
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["id", "prediction", "insult"])
    writer.writerows((f"{row_id}.0" if row_id.isdigit() else row_id, 0.5, "é, " * 99) for row_id in ids)
    accepted = read_submission(file.getvalue().encode(), RowIds.of(ids), other_labels=["insult"])
    assert accepted.predictions.tolist() == [0.5] * ROWS


def test_messages_do_not_reveal_the_order_of_the_solution():
    lines = [f"{name},0.5\n".encode() for name in IDS]
    data = HEADER + b"".join(lines[5:900] + lines[800:-40]) + b"1,nan\n"
    shuffled = random.Random(1).sample(IDS, ROWS)
    assert problems(data, RowIds.of(IDS)) == problems(data, RowIds.of(shuffled))
    rows = b"".join(b"%s.0,%d\n" % (name.encode(), 2 * (name == IDS[3])) for name in IDS)
    notes = [read_submission(HEADER + rows, RowIds.of(ids)).notes for ids in (IDS, shuffled)]
    assert notes[0] == notes[1]


def test_size_limit_grows_with_the_rows():
    assert submission_size_cap(0) == 50_000_000
    assert submission_size_cap(194_640) == 50_000_000
    assert submission_size_cap(1_804_874) == 64 * 1_804_874


def test_size_limit_of_uploads_depends_on_rows_long_ids_and_other_labels():
    names = [f"{number:07}" for number in range(1_000)]
    short, long = RowIds.of(names), RowIds.of(["i" * 93 + name for name in names])
    assert submission_upload_cap(short) == 1_064_000
    assert submission_upload_cap(long) == 1_064_000 + 1_000 * (101 - 24)
    assert submission_upload_cap(short, ("obscene", "threat")) == 1_064_000 + 48_000


def test_decompression_bomb_is_stopped_at_the_size_limit():
    bomb = gzip.compress(bytes(200_000_000))
    tracemalloc.start()
    try:
        (problem,) = problems(bomb)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert problem.code == "uncompressed_too_large"
    assert peak < 80_000_000


@pytest.mark.parametrize("size", [1, 7, 65_536, 200_000])
def test_gzip_members_may_end_anywhere(size):
    data = HEADER + b"".join(f"{name},{number / ROWS!r}\n".encode() for number, name in enumerate(IDS))
    # This produces members of every size and chunk boundaries inside members.
    data += b"\n" * (size + len(data))
    split = gzip.compress(data[:size]) + gzip.compress(data[size:])
    assert read_submission(split, RowIds.of(IDS)).predictions.tolist() == [
        number / ROWS for number in range(ROWS)
    ]


def test_every_truncation_of_a_gzip_file_is_detected():
    whole = gzip.compress(HEADER + b"1,0.5\n", mtime=0)
    for length in range(1, len(whole)):
        codes = {problem.code for problem in problems(whole[:length], RowIds.of(["1"]))}
        assert codes <= {"damaged_archive", "wrong_header", "wrong_column", "missing_column",
                         "unexpected_column", "no_rows"}  # fmt: skip
        if length > 1:
            assert codes == {"damaged_archive"}


def test_every_flipped_byte_of_the_checksum_is_detected():
    whole = bytearray(gzip.compress(HEADER + b"1,0.5\n", mtime=0))
    for offset in range(len(whole) - 8, len(whole)):
        damaged = whole.copy()
        damaged[offset] ^= 1
        assert problems(bytes(damaged), RowIds.of(["1"]))[0].code == "damaged_archive"
