"""File reader of the second implementation, compared with `grader.files`."""

import gzip
import io
import random
import tracemalloc
import zipfile

import numpy as np
import pytest

from grader.files import FileRejected, RowIds, read_solution, read_submission
from grader.files.solution.canonical_form import canonical_solution, solution_digest
from grader.metrics import MetricSettings
from grader.receipts import RecountSettings, UnreadableFile, read_predictions, read_truth
from grader.receipts.reading import finite_number, shown, text_of

IDS = ["7000000", "7", "70", "9007199254740993"]
NAMES = ['a,"b"', "é", "\U0001f600 x", "7.0", "x y"]
CLEAN = b"id,prediction\n7000000,0.25\n7,1\n70,-3e2\n9007199254740993,.5\n"


def zipped(data: bytes, *added: str) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as entries:
        for name in ("__MACOSX/._a.csv", *added):
            entries.writestr(name, b"\0\5\x16\7litter")
        entries.writestr("folder/a.csv", data)
    return archive.getvalue()


ACCEPTED = {
    "plain": CLEAN,
    "CRLF": CLEAN.replace(b"\n", b"\r\n"),
    "old Mac": CLEAN.replace(b"\n", b"\r"),
    "mixed line ends": CLEAN.replace(b"\n", b"\r\n", 2),
    "no final line end": CLEAN.rstrip(),
    "blank lines at the end": CLEAN + b"\r\n \t\n\n",
    "BOM": b"\xef\xbb\xbf" + CLEAN,
    "quoted": b'"id","prediction"\n"7000000","0.25"\n"7","1"\n"70","-3e2"\n"9007199254740993",".5"\n',
    "padded": b'id , prediction\n 7000000\t,0.25 \n\t"7" , "1"\n70," -3e2 "\n9007199254740993,.5\n',
    "reordered": b"prediction,id\n0.25,7000000\n1,7\n-3e2,70\n.5,9007199254740993\n",
    "rows in another order": b"id,prediction\n70,-300.0\n7,+1.\n9007199254740993,5e-1\n7000000,0.250\n",
    "decimal ids": b"id,prediction\n7000000.0,0.25\n7.,1\n70.000,-3e2\n9007199254740993,.5\n",
    "gzip": gzip.compress(CLEAN),
    "two gzip members": gzip.compress(CLEAN[:20]) + gzip.compress(CLEAN[20:]) + b"\0" * 9,
    "gzip with a long name": b"\x1f\x8b\x08\x08" + bytes(6) + b"n" * 5000 + b"\0" + gzip.compress(CLEAN)[10:],
    "gzip of blocks": b"".join(gzip.compress(CLEAN[at : at + 9]) for at in range(0, len(CLEAN), 9)),
    "maximum number of empty gzip members": gzip.compress(b"") * 99_999 + gzip.compress(CLEAN),
    "number of 512 characters": CLEAN.replace(b"0.25", b"0.25".ljust(512, b"0")),
    "zip": zipped(CLEAN),
    "zip with files of macOS": zipped(
        CLEAN, "folder/._a.csv", ".ds_store", ".Trashes/a", "folder/.fseventsd/0"
    ),
    "zip with files of Windows": zipped(CLEAN, "Thumbs.db", "b/DESKTOP.INI", "$RECYCLE.BIN\\x", "~$a.xlsx"),
    "scientific ids": CLEAN.replace(b"\n70,", b"\n7e1,").replace(b"7000000", b"7e+06"),
}
REJECTED = {
    "missing id": b"id,prediction\n7000000,0.25\n7,1\n70,1\n",
    "unknown id": CLEAN + b"71,0\n",
    "repeated id": CLEAN + b"7,1\n",
    "NaN": CLEAN.replace(b"0.25", b"nan"),
    "infinite": CLEAN.replace(b"0.25", b"1e999"),
    "underscore": CLEAN.replace(b"0.25", b"1_0"),
    "Arabic digits": CLEAN.replace(b"0.25", "٣".encode()),
    "number of 513 characters": CLEAN.replace(b"0.25", b"0.25".ljust(513, b"0")),
    "hexadecimal": CLEAN.replace(b"0.25", b"0x1p3"),
    "blank": CLEAN.replace(b"0.25", b""),
    "blank line between rows": CLEAN.replace(b"7,1\n", b"\n7,1\n"),
    "three fields": CLEAN.replace(b"7,1", b"7,1,"),
    "stray quote": CLEAN.replace(b"0.25", b'0."25"'),
    "open quote": CLEAN.replace(b"0.25", b'"0.25'),
    "wrong header": CLEAN.replace(b"prediction", b"score"),
    "no header": CLEAN.removeprefix(b"id,prediction\n"),
    "not UTF-8": CLEAN.replace(b"0.25", b"\xff"),
    "truncated gzip": gzip.compress(CLEAN)[:-12],
    "too many empty gzip members": gzip.compress(b"") * 100_000 + gzip.compress(CLEAN) + gzip.compress(b""),
    "gzip with trailing garbage": gzip.compress(CLEAN) + b"rubbish",
    "zero bytes at the end": CLEAN + bytes(16),
    "an id too large to be a float": CLEAN.replace(b"9007199254740993", b"9007199254740993.0"),
    "empty": b"",
}


@pytest.mark.parametrize("data", ACCEPTED.values(), ids=ACCEPTED)
def test_accepted_submission_is_read_identically(data):
    expected = read_submission(data, RowIds.of(IDS)).predictions
    found = read_predictions(data, frozenset(IDS))
    assert [found[row_id] for row_id in IDS] == expected.tolist()


@pytest.mark.parametrize("data", REJECTED.values(), ids=REJECTED)
def test_rejected_submission_is_not_read(data):
    with pytest.raises(FileRejected):
        read_submission(data, RowIds.of(IDS))
    with pytest.raises(UnreadableFile):
        read_predictions(data, frozenset(IDS))


def test_quotes_around_an_id_are_never_part_of_the_id():
    assert read_predictions(b'id,prediction\n"""7""",1\n', frozenset({'"7"'})) == {'"7"': 1.0}
    with pytest.raises(UnreadableFile, match="is not in the solution"):
        read_predictions(b'id,prediction\n"7",1\n', frozenset({'"7"'}))


def test_columns_of_other_labels_are_ignored_identically():
    header, *rows = CLEAN.decode().splitlines()
    for first, last in (("insult,", ",obscene"), ('"ins""ult, too",', ""), ("", ",obscene")):
        lines = [f"{first}{header}{last}", *(f"{first}{row}{last}" for row in rows)]
        data = "\n".join(lines).encode()
        labels = ("insult", 'ins"ult, too', "obscene")
        expected = read_submission(data, RowIds.of(IDS), other_labels=labels).predictions
        found = read_predictions(data, frozenset(IDS))
        assert [found[row_id] for row_id in IDS] == expected.tolist()


def test_text_ids_are_read_identically():
    data = '"a,""b""",1\n é ,2\n"\U0001f600 x",3\n7.0,4\nx y,5\n'
    data = ("id,prediction\n" + data).encode()
    expected = read_submission(data, RowIds.of(NAMES)).predictions
    found = read_predictions(data, frozenset(NAMES))
    assert [found[name] for name in NAMES] == expected.tolist() == [1, 2, 3, 4, 5]


def test_changed_file_is_accepted_by_both_or_by_neither():
    chance = random.Random(4)
    pieces = [b",", b'"', b"\n", b"\r", b" ", b"\t", b".", b"0", b"7", b"e", b"-", b"\0", b"\xc2\xa0", b"id"]
    accepted = 0
    for _ in range(1500):
        data = chance.choice([ACCEPTED["plain"], ACCEPTED["quoted"], ACCEPTED["padded"]])
        at = chance.randrange(len(data))
        data = data[:at] + chance.choice(pieces) + data[at + chance.randrange(2) :]
        try:
            expected = read_submission(data, RowIds.of(IDS)).predictions.tolist()
        except FileRejected:
            continue
        accepted += 1
        found = read_predictions(data, frozenset(IDS))
        assert [found[row_id] for row_id in IDS] == expected, data
    assert accepted > 100


SETTINGS = RecountSettings.from_dict({"identities": ["dog", "cat"], "metric": MetricSettings().as_dict()})
SOLUTION = (
    b"id,text,target,cat,dog,Usage\n"
    b'10,"a\n""b"", c",1,0.5,,Public\n'
    b"9,x,0.25,1,0,private\n"
    b" x ,,.5,,1e-1,IGNORED\n"
)


def as_read(truth):
    return {
        split: [(row.row_id, row.is_positive, sorted(row.mentions)) for row in rows]
        for split, rows in truth.rows.items()
    }


@pytest.mark.parametrize(
    "data",
    [SOLUTION, SOLUTION.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + SOLUTION, gzip.compress(SOLUTION)],
    ids=["plain", "CRLF", "BOM", "gzip"],
)
def test_solution_is_read_identically_with_the_same_digest(data):
    truth = read_truth(data, SETTINGS, label="target", identities=["cat", "dog"])
    known = read_solution(data, identities=["cat", "dog"])
    assert truth.digest == solution_digest(known.row_ids, known.labels, known.identities, known.usage)
    assert truth.row_ids == {"10", "9", "x"}
    assert as_read(truth) == {"public": [("10", True, ["cat"])], "private": [("9", False, ["cat"])]}


def test_canonical_solution_needs_no_names_and_its_digest_is_its_sha256():
    chance = np.random.default_rng(5)
    ids = [f'{number},"é"' for number in range(200)]
    identities = {
        name: chance.choice([np.nan, 0.0, 0.1, 1 / 3, 0.5, 1.0], 200) for name in ("dog", "cat", 'fo,x"')
    }
    labels, usage = chance.random(200), chance.integers(0, 3, 200).astype(np.int8)
    data = b"".join(canonical_solution(ids, labels, identities, usage))
    truth = read_truth(data, SETTINGS)
    assert truth.digest == solution_digest(ids, labels, identities, usage)
    assert {split: len(rows) for split, rows in truth.rows.items()} == {
        "public": int((usage == 1).sum()),
        "private": int((usage == 2).sum()),
    }


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"0.25", b"2"),
        (b"0.25", b""),
        (b"private", b"secret"),
        (b"\n9,", b"\n10,"),
        (b",Usage", b",split"),
        (b"dog", b"fox"),
        (b",0.5,", b",half,"),
        (b"9,x,", b"9,"),
    ],
)
def test_invalid_solution_is_not_read(old, new):
    with pytest.raises(UnreadableFile):
        read_truth(SOLUTION.replace(old, new), SETTINGS, label="target", identities=["cat", "dog"])


def test_unpublished_file_requires_the_names_of_its_columns():
    with pytest.raises(UnreadableFile, match="does not contain the column names"):
        read_truth(SOLUTION, SETTINGS)


@pytest.mark.parametrize("kind", ["gzip", "zip"])
def test_small_archive_needs_little_memory(kind: str):
    tracemalloc.start()
    try:
        read_predictions(ACCEPTED[kind], IDS)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000


def test_number_has_at_most_512_characters():
    for length, number in ((512, 0.0), (513, None)):
        assert finite_number("0" * length) == number


@pytest.mark.parametrize("text", ["", "a" * 80, "a" * 81, "a'b" * 50])
def test_message_shows_texts_of_up_to_80_characters_completely(text):
    assert shown(text) == (repr(text) if len(text) <= 80 else repr(text[:80]) + "…")


def test_zero_bytes_are_reported_with_count_and_line():
    zeros = b"\0" * 20
    for data, said in (
        (b"\n" + CLEAN + zeros, "The file ends in 20 zero bytes (NUL) starting on line 7. It was"),
        (b"\n\n" + zeros + CLEAN, "The file has 20 zero bytes (NUL) on line 3. It was"),
    ):
        with pytest.raises(UnreadableFile) as refused:
            text_of(data)
        assert said in str(refused.value)


def test_usage_column_is_found_in_any_case():
    whole = read_truth(SOLUTION, SETTINGS, label="target", identities=["cat", "dog"])
    for name in (b"usage", b"USAGE"):
        other = read_truth(
            SOLUTION.replace(b"Usage", name), SETTINGS, label="target", identities=["cat", "dog"]
        )
        assert as_read(other) == as_read(whole)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b",Usage", b",split", "The solution has 0 columns 'Usage'; expected one."),
        (b",text,", b",Usage,", "The solution has 2 columns 'Usage'; expected one."),
        (b"dog,Usage", b"USAGE,usage", "The solution has 0 columns 'Usage'; expected one."),
        (b"dog,Usage", b"fox,Usage", "The solution has no column 'dog', which is an identity of the score."),
        (b"cat,dog,Usage", b"cat,dog,target", "The solution has 2 columns 'target'; expected one."),
        (b"x,0.25", b'"x"y,0.25', "Line 4 of the solution: ',' expected after '\"'."),
        (b"9,x,0.25", b"9,0.25", "Line 4 of the solution has 5 fields; expected 6."),
        (b"0.25", b"1.5", "Line 4 of the solution: '1.5' is not a number from 0 to 1."),
        (b"0.25", b" \t", "Line 4 of the solution has no label."),
        (b"\n9,", b"\n 10 ,", "Line 4 of the solution has a blank or repeated id or no Usage."),
        (b"\n9,", b"\n\t,", "Line 4 of the solution has a blank or repeated id or no Usage."),
        (b"private", b"", "Line 4 of the solution has a blank or repeated id or no Usage."),
    ],
)
def test_problem_of_a_solution_is_reported_with_its_line(old: bytes, new: bytes, said: str):
    identities = ["cat"] if b"dog" not in SOLUTION.replace(old, new) else ["cat", "dog"]
    with pytest.raises(UnreadableFile) as refused:
        read_truth(SOLUTION.replace(old, new), SETTINGS, label="target", identities=identities)
    assert said in str(refused.value)


def test_truncated_gzip_member_is_reported_as_damaged():
    whole = gzip.compress(CLEAN)
    for cut in (whole[:-12], whole[:3], whole + whole[:-1]):
        with pytest.raises(UnreadableFile, match=r"^The compressed file is damaged \(it ends too early\)\.$"):
            text_of(cut)
