"""Tables inside files: archives, unchecked parts, limits."""

import gzip
import io
import struct
import zipfile
from typing import Any

import pytest

from grader.disclosure import files
from grader.disclosure.files import MEMBER_COLUMNS, OTHER_BINARY, OTHER_JSON, Unopened, opened
from grader.disclosure.source import Budget, CountedStream, GivenUp

AB = b"a,b\n1,2\n"
AS_TABLE = (["a", "b"], [["a", "b"], ["1", "2"]])
NESTED = "archives and compressed files in other archives or compressed files are not checked"


def parts(data: bytes, budget: Budget | None = None) -> list[Any]:
    """Return a file's tables with their rows, and the parts of the file that were not checked."""
    found: list[Any] = []
    for each in opened(io.BytesIO(data), budget or Budget()):
        if isinstance(each, Unopened):
            found.append(each)
        else:
            rows = list(each.rows)
            found.append((each.name, (each.names, rows)))
    return found


def zipped(contents: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in contents.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 2, 3, 4, 6)), data)
    return packed.getvalue()


def test_every_part_of_an_archive_is_read_or_named_as_not_checked():
    data = zipped(
        {
            "d/x.csv": AB,
            "__MACOSX/y": AB,
            "d/.DS_Store": AB,
            "i.png": b"\x89PNG\r\n\x1a\n\0\0",
            "g.gz": gzip.compress(AB),
            "z.zip": zipped({"x": AB}),
            "p.parquet": b"PAR1..",
            "w.csv": AB.decode().encode("utf-16"),
            "j.json": b'{"u": [1, 2, 3]}',
            "l.jsonl": b'{"y": 1}\n\n{"y": 0}\n',
            "broken.csv": b"a,b\n\xff,2\n",
            "empty": b"",
        }
    )
    (title, (columns, members)), *found = parts(data)
    assert (title, columns) == ("the list of its files", list(MEMBER_COLUMNS))
    assert members[0] == ["x", "8", "20260102030406", "0", "d", "x", "csv"]
    assert len(members) == 10
    assert found == [
        ("d/x.csv", AS_TABLE),
        Unopened("i.png", OTHER_BINARY),
        Unopened("g.gz", NESTED),
        Unopened("z.zip", NESTED),
        Unopened("p.parquet", "Parquet files are not checked"),
        Unopened("w.csv", "UTF-16 texts are not checked; save it as UTF-8"),
        Unopened("j.json", OTHER_JSON),
        ("l.jsonl", (["y"], [["1"], ["0"]])),
        ("broken.csv", (["a", "b"], [["a", "b"], ["\ufffd", "2"]])),
        ("empty", ([], [])),
    ]


@pytest.mark.parametrize("pack", [gzip.compress, lambda data: zipped({"x": data})])
def test_nested_archives_are_not_checked(pack):
    assert ("x", AS_TABLE) in parts(pack(AB)) or ("", AS_TABLE) in parts(pack(AB))
    for inner in (gzip.compress(AB), zipped({"x": AB}), zipped({})):
        last = parts(pack(inner))[-1]
        assert isinstance(last, Unopened) and last.reason == NESTED


def test_password_protected_members_are_named_and_the_next_is_read():
    data = bytearray(zipped({"a": AB, "b": AB}))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        struct.pack_into("<H", data, data.index(signature) + offset, 1)
    assert parts(bytes(data))[1:] == [Unopened("a", "it is password-protected"), ("b", AS_TABLE)]


def test_archives_with_too_many_files_and_office_documents_are_not_opened(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "MOST_FILES", 2)
    assert not [each for each in parts(zipped({"a": AB, "b": AB})) if isinstance(each, Unopened)]
    assert parts(zipped({"a": AB, "b": AB, "c": AB})) == [Unopened("", "it contains 3 files")]
    document = zipped({"[Content_Types].xml": b"<x/>", "xl/a.xml": b"<x/>"})
    assert parts(document) == [Unopened("", "Office documents are not checked")]


@pytest.mark.parametrize(
    ("data", "is_text"),
    [
        (b"id,text\n7,\x01\n" + b"8,hello\n" * 99, True),
        (b"id,text\n7,\x01\n", True),
        (b"id,text\n7,\x01\x02\x03\n", False),
        (b"id,text\n7,\xff\xe4\n", True),
        (b"PK,x\n1,2\n", True),
        (b"a\0b", False),
    ],
)
def test_binary_data_is_recognized_by_its_control_characters(data: bytes, is_text: bool):
    (found,) = parts(data)
    assert (found != Unopened("", OTHER_BINARY)) is is_text


@pytest.mark.parametrize(
    ("text", "are_lines"),
    [
        ('{"a": 1}\n{"a": 2}', True),
        ("\n [1]\n[2]", True),
        ('{"a": 1}\n \n', False),
        ('{"a":\n1}', False),
        ('[{"a": 1},\n{"a": 2}]', False),
        ("[" * 100_000 + "\nx", False),
    ],
)
def test_json_lines_have_a_complete_first_value_followed_by_others(text: str, are_lines: bool):
    assert (parts(text.encode()) != [Unopened("", OTHER_JSON)]) is are_lines


def test_unpacked_bytes_and_plain_bytes_are_counted():
    for data in (AB, gzip.compress(AB), zipped({"x": AB})):
        budget = Budget()
        parts(data, budget)
        assert budget.spent == len(AB)
    counted = io.BufferedReader(CountedStream(io.BytesIO(b"01234"), budget := Budget()), 4)
    assert (counted.read(), budget.spent) == (b"01234", 5)


def test_limits_are_bytes_and_cpu_time(monkeypatch: pytest.MonkeyPatch):
    clock = [100.0]
    monkeypatch.setattr("grader.disclosure.source.time.process_time", lambda: clock[0])
    told: list[int] = []
    budget = Budget(10_000_000_000, size=10**9, tell=told.append)
    budget._begun_at = 100.0
    for spent, seconds in ((0, 150), (3 * 10**9, 450), (10**10, 1500)):
        budget.spend(spent - budget.spent)
        clock[0] = 100.0 + seconds
        budget.go_on()
        clock[0] += 0.001
        with pytest.raises(GivenUp, match=f"^it cannot be checked within {seconds:,} seconds of CPU time$"):
            budget.go_on()
        clock[0] = 100.0
    assert told == [0, 3 * 10**9, 10**10]
    with pytest.raises(GivenUp, match=r"^it contains more than 10\.0 GB of unpacked data$"):
        budget.spend(1)
    small = Budget(size=10_000_000)
    small._begun_at = 100.0
    # Unpacked bytes are counted up to 50 times the file's size, which allows 75 seconds here.
    small.spend(10**9)
    clock[0] = 175.0
    small.go_on()
    clock[0] = 175.1
    with pytest.raises(GivenUp):
        small.go_on()
