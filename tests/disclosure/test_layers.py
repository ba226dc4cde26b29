"""Tables inside files: names, columns, cells, unreadable parts."""

import csv
import gzip
import io
import struct
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import fastparquet
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.disclosure import layers, table_formats
from grader.disclosure.layers import DEEPEST, Unopened, opened
from grader.disclosure.source import CHUNK_BYTES, Budget, CountedStream, GivenUp, NotReadNow, Source
from grader.disclosure.table_formats import delimited, json_lines, parquet
from grader.disclosure.tables import MEMBER_COLUMNS, texts_of

PNG = b"\x89PNG\r\n\x1a\n"


def texts(chunks) -> list[tuple[list[str], list[list[str]]]]:
    """Return the names and rows of chunks."""
    found = []
    for chunk in chunks:
        rows = np.arange(chunk.row_count)
        columns = [texts_of(chunk.cells(name, rows)) for name in chunk.names]
        found.append((list(chunk.names), [list(row) for row in zip(*columns, strict=True)]))
    return found


def parts(data: bytes, budget: Budget | None = None) -> list[Any]:
    """Return a file's tables with their rows, and the parts of the file that were not opened."""
    stream = io.BufferedReader(Source(io.BytesIO(data)), CHUNK_BYTES)
    found: list[Any] = []
    for each in opened(stream, budget or Budget()):
        if isinstance(each, Unopened):
            found.append(each)
        elif each.name == "the list of its files":
            ((columns, rows),) = texts(each.chunks)
            assert tuple(columns) == MEMBER_COLUMNS
            found.append((each.name, [[name] for name, *_ in rows]))
        else:
            found.append((each.name, texts(each.chunks)))
    return found


def zipped(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()


def tarred(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        folder = tarfile.TarInfo("d")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, next(iter(files))
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        archive.addfile(link)
    return packed.getvalue()


def in_parquet(path: Path, table: pd.DataFrame) -> bytes:
    fastparquet.write(str(path), table)
    return path.read_bytes()


AB = b"a,b\n1,2\n"
AS_TABLE = [(["a", "b"], [["a", "b"], ["1", "2"]])]


def names_of(*names: str) -> tuple[str, list[Any]]:
    return "the list of its files", [[each] for each in names]


def test_every_part_of_nested_archives_is_named_by_its_path(tmp_path: Path):
    data = zipped(
        {
            "t.tar": tarred({"d/x.csv": AB, "__MACOSX/y": AB, "d/.DS_Store": AB, "i.png": PNG}),
            "g.gz": gzip.compress(gzip.compress(AB)),
            "p": in_parquet(tmp_path / "p", pd.DataFrame({"x": [0.5, 1]})),
            "j.json": b'{"u": [1, 2, 3], "r": [{"y": 1}, {"y": 0}]}',
            "l.jsonl": b'{"y": 1}\n\n{"y": 0}\n',
            "w.csv": AB.decode().encode("utf-16"),
            "broken.csv": b"a,b\n\xff,2\n",
            "__MACOSX/y": AB,
            "q.zip": zipped({"x": AB, ".DS_Store": b"", "broken": b"PK\x03\x04x"}),
            "empty": b"",
        }
    )
    *found, last, broken = parts(data)
    assert found == [
        names_of("t.tar", "g.gz", "p", "j.json", "l.jsonl", "w.csv", "broken.csv", "q.zip", "empty"),
        ("t.tar/d/x.csv", AS_TABLE),
        Unopened("t.tar/i.png", "it is an image"),
        names_of("d/x.csv", "i.png"),
        ("g.gz", AS_TABLE),
        ("p", [(["x"], [["0.5"], ["1.0"]])]),
        (
            "j.json",
            [
                (
                    ["key", "value.0", "value.1", "value.2", "value.0.y", "value.1.y"],
                    [["u", "1", "2", "3", "", ""], ["r", "", "", "", "1", "0"]],
                )
            ],
        ),
        ("j.json: u", [(["value"], [["1"], ["2"], ["3"]])]),
        ("j.json: r", [(["y"], [["1"], ["0"]])]),
        ("l.jsonl", [(["y"], [["1"], ["0"]])]),
        ("w.csv", AS_TABLE),
        ("broken.csv", [(["a", "b"], [["a", "b"], ["\ufffd", "2"]])]),
        names_of("x", "broken"),
    ]
    assert last == ("q.zip/x", AS_TABLE)
    assert broken == Unopened("q.zip/broken", "it is damaged (BadZipFile: File is not a zip file)")


def test_password_protected_members_are_named_and_the_next_is_read():
    data = bytearray(zipped({"a": AB, "b": AB}))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = data.index(signature) + offset
        struct.pack_into("<H", data, place, 1)
    assert parts(bytes(data)) == [
        names_of("a", "b"),
        Unopened("a", "it is password-protected"),
        ("b", AS_TABLE),
    ]


@pytest.mark.parametrize(
    "pack", [gzip.compress, lambda data: zipped({"x": data}), lambda data: tarred({"x": data})]
)
def test_layers_are_opened_down_to_the_maximum_depth(pack):
    data = AB
    for _ in range(DEEPEST):
        data = pack(data)
    assert AS_TABLE in [each[1] for each in parts(data) if not isinstance(each, Unopened)]
    (too_deep,) = (each for each in parts(pack(data)) if isinstance(each, Unopened))
    assert too_deep.reason == "archives are nested too deeply"


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_archives_with_too_many_files_are_not_opened(pack, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(layers, "MOST_FILES", 2)
    assert not [each for each in parts(pack({"a": AB, "b": AB})) if isinstance(each, Unopened)]
    (given_up,) = (each for each in parts(pack({"a": AB, "b": AB, "c": AB})) if isinstance(each, Unopened))
    count = "3" if pack is zipped else "more than 2"
    assert given_up == Unopened("", f"it contains {count} files")


@pytest.mark.parametrize(("folder", "kind"), layers.OFFICE.items())
def test_office_documents_are_named(folder: str, kind: str):
    document = {"[Content_Types].xml": b"<x/>", f"{folder}a.xml": b"<x/>"}
    assert parts(zipped({"d": zipped(document)}))[1:] == [Unopened("d", f"it is {kind}")]
    assert len(parts(zipped({f"{folder}a": AB}))) == 2


@pytest.mark.parametrize(("magic", "kind"), layers.KNOWN_KINDS)
def test_known_file_types_are_named(magic: bytes, kind: str):
    assert parts(magic + b"..") == [Unopened("", f"it is {kind}")]


def test_unpacked_bytes_and_plain_bytes_are_counted():
    for data, spent in ((AB, 8), (gzip.compress(AB), 8), (zipped({"x": gzip.compress(AB)}), None)):
        budget = Budget()
        parts(data, budget)
        assert budget.spent == (spent or 8 + len(gzip.compress(AB)))


CELL = st.text("ab;\"\n '", max_size=4)
TABLES = st.lists(st.lists(CELL, min_size=1, max_size=4), min_size=1, max_size=9)


@settings(max_examples=150)
@given(TABLES, st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]), st.tuples(*[st.integers(1, 9)] * 3))
def test_rows_equal_those_of_the_csv_module_for_any_blocks(table, quoting: int, sizes: tuple[int, ...]):
    text = io.StringIO()
    csv.writer(text, quoting=quoting, lineterminator="\n").writerows(table)
    expected = [row for row in csv.reader(io.StringIO(text.getvalue(), newline="")) if row]
    with pytest.MonkeyPatch.context() as patched:
        for name, size in zip(("SAMPLE_CHARACTERS", "CHUNK_CHARACTERS", "CHUNK_ROWS"), sizes, strict=True):
            patched.setattr(table_formats, name, size)
        patched.setattr(table_formats, "_delimiter", lambda sample: ",")
        chunks = texts(delimited(io.StringIO(text.getvalue(), newline="")))
    rows = [row for _, chunk in chunks for row in chunk]
    width = max(map(len, expected), default=0)
    padded = [[cell.strip() for cell in row] + [""] * (width - len(row)) for row in expected]
    assert [row + [""] * (width - len(row)) for row in rows] == padded
    widths = [len(names) for names, _ in chunks]
    assert widths == sorted(widths)
    assert all(len(set(names)) == len(names) for names, _ in chunks)


def test_columns_are_named_by_the_first_row_or_by_their_number():
    ((names, _),) = texts(delimited(io.StringIO(f"a, b  c ,a,,{'x' * 70},column 4\n")))
    assert names == ["a", "b c", "column 3", "column 4", "x" * 60, "column 6"]
    ((names, rows),) = texts(delimited(io.StringIO("a,b\n1,2,3\n4\n")))
    assert (names, rows) == (["1", "2", "3"], [["a", "b", ""], ["1", "2", "3"], ["4", "", ""]])
    ((names, _),) = texts(delimited(io.StringIO("column 2,,\n")))
    assert names == ["column 2", "column 2'", "column 3"]


def test_exceeded_limits_are_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(table_formats, "MOST_COLUMNS", 2)
    path = tmp_path / "p"
    for columns in (2, 3):
        text = ",".join("abc"[:columns])
        in_parquet(path, pd.DataFrame({name: [1] for name in "abc"[:columns]}))
        for read in (lambda text=text: delimited(io.StringIO(text)), lambda: parquet(str(path), Budget())):
            if columns == 2:
                assert len(list(read())) == 1
            else:
                with pytest.raises(GivenUp, match=r"^it has more than 2 columns$"):
                    list(read())
    monkeypatch.setattr(table_formats, "LONGEST_FIELD", 3)
    with pytest.raises(GivenUp, match=r"^line 3 cannot be read \(field larger than field limit \(3\)\)$"):
        list(delimited(io.StringIO('a\nb\n"cdef"\n')))
    with pytest.raises(GivenUp, match=r"^line 3 is not valid JSON \(Expecting value"):
        list(json_lines(io.StringIO("{}\n\nx\n")))
    monkeypatch.setattr(table_formats, "LARGEST_DOCUMENT", 2_000_000)
    assert table_formats.document_of(io.StringIO("1" + " " * 1_999_999)) == 1
    with pytest.raises(GivenUp, match=r"^it is a JSON document of more than 2 MB; convert it to JSON Lines$"):
        table_formats.document_of(io.StringIO("1" + " " * 2_000_000))


def test_json_lines_are_read_in_chunks(monkeypatch: pytest.MonkeyPatch):
    lines = [f'{{"y": {number}}}\n' for number in range(7)]
    for name, size, expected in (("CHUNK_ROWS", 3, [3, 3, 1]), ("CHUNK_CHARACTERS", 10, [2, 2, 2, 1])):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(table_formats, name, size)
            found = texts(json_lines(io.StringIO("".join(lines))))
        assert [len(rows) for _, rows in found] == expected
        assert [row for _, rows in found for (row,) in rows] == [str(number) for number in range(7)]


def test_large_parquet_columns_are_omitted_and_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    rows = 50_000
    table = pd.DataFrame({f"t{n}": [f"text {row % 9} {n}" for row in range(rows)] for n in range(5)})
    table["x"] = np.arange(rows) / 2
    path = tmp_path / "p"
    in_parquet(path, table)
    monkeypatch.setattr(table_formats, "LARGEST_COLUMN_BYTES", 2_000_000)
    chunks = parquet(str(path), Budget())
    chunk = next(chunks)
    assert chunk.names == ["x"]
    assert texts_of(chunk.cells("x", np.array([3, 1]))) == ["1.5", "0.5"]
    with pytest.raises(GivenUp) as error:
        next(chunks)
    assert str(error.value) == (
        "a row group is too large in column t0 (4 MB), t1 (4 MB), t2 (4 MB) and 2 more; "
        "write smaller row groups"
    )
    budget = Budget(max_bytes=1)
    with pytest.raises(GivenUp, match="unpacked"):
        next(parquet(str(path), budget))
    assert budget.spent > rows


class Unseekable(io.BytesIO):
    def seekable(self) -> bool:
        return False


def test_source_is_seekable_and_raises_storage_errors():
    source = io.BufferedReader(Source(io.BytesIO(b"0123456789")), 4)
    assert source.seekable() and source.readable()
    assert (source.seek(-3, io.SEEK_END), source.tell(), source.read(2)) == (7, 7, b"78")
    assert (source.seek(2), source.seek(1, io.SEEK_CUR), source.read()) == (2, 3, b"3456789")
    assert not Source(Unseekable(b"1")).seekable()
    raw = io.BufferedReader(layers._Raw(io.BytesIO(b"0123456789")), 4)
    assert (raw.seek(-3, io.SEEK_END), raw.tell(), raw.read(), raw.seek(1), raw.read(1)) == (
        7,
        7,
        b"789",
        1,
        b"1",
    )
    assert not layers._Raw(Unseekable(b"1")).seekable()
    for stream in (Source(io.BytesIO(b"0123")), layers._Raw(io.BytesIO(b"0123"))):
        assert (stream.seek(1), stream.seek(2)) == (1, 2)  # The offset is counted from the start of the file.
    counted = io.BufferedReader(CountedStream(io.BytesIO(b"01234"), budget := Budget()), 4)
    assert (counted.read(), budget.spent) == (b"01234", 5)

    class Failing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError(5, "gone")

    with pytest.raises(NotReadNow, match=r"^\[Errno 5\] gone$"):
        Source(Failing()).readinto(bytearray(1))


def test_limits_are_bytes_and_cpu_time(monkeypatch: pytest.MonkeyPatch):
    clock = [100.0]
    monkeypatch.setattr("grader.disclosure.source.time.process_time", lambda: clock[0])
    told: list[int] = []
    budget = Budget(10_000_000_000, seconds_per_gigabyte=2, least_seconds=1, size=10**9, tell=told.append)
    budget._begun_at = 100.0
    for spent, seconds in ((0, 2), (3 * 10**9, 6), (10**10, 20)):
        budget.spend(spent - budget.spent)
        clock[0] = 100.0 + seconds
        budget.go_on()
        clock[0] += 0.001
        with pytest.raises(GivenUp, match=f"^it cannot be checked within {seconds} seconds of CPU time$"):
            budget.go_on()
        clock[0] = 100.0
    assert told == [0, 3 * 10**9, 10**10]
    with pytest.raises(GivenUp, match=r"^it contains more than 10\.0 GB of unpacked data$"):
        budget.spend(1)
    small = Budget(least_seconds=5, seconds_per_gigabyte=10**9, size=1)
    small._begun_at = 100.0
    # Unpacked bytes are counted up to 50 times the file's size, which allows 50 seconds here.
    small.spend(1000)
    clock[0] = 150.0
    small.go_on()
    clock[0] = 150.1
    with pytest.raises(GivenUp):
        small.go_on()


def test_number_of_tables_and_columns_is_limited(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(table_formats, "MOST_COLUMNS", 2)
    data = {outer: {"k": place, "l": 0} for place, outer in enumerate("abc")}
    found = [(table.name, texts(table.chunks)) for table in table_formats.json_tables("x", data)]
    assert [name for name, _ in found] == ["x", "x: a", "x: b"]
    assert found[0][1] == [(["key", "a", "b"], [["k", "0", "1"], ["l", "0", "0"]])]
