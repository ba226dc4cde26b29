"""Malformed and unusual submissions with complete golden results.

The results are stored in golden.json. `python tests/files/test_corpus.py` regenerates the file. Review the
differences before you commit them.
"""

import bz2
import gzip
import io
import json
import random
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from grader.files import FileRejected, RowIds, read_submission

pytestmark = pytest.mark.usefixtures("large_file_reader")

GOLDEN = Path(__file__).with_name("golden.json")
ROWS = 1200
IDS = [str(7_000_000 + place) for place in range(ROWS)]
ROW_IDS = RowIds.of(IDS)
# The values have five decimals and are distinct, so there is no note on ties.
PREDICTIONS = [f"0.{(place * 7919) % 99991:05d}" for place in range(ROWS)]
LINES = [f"{name},{value}" for name, value in zip(IDS, PREDICTIONS, strict=True)]
HEADER = "id,prediction"


def text(lines, *, header=HEADER, end="\n"):
    return (end.join([header, *lines]) + end).encode()


def with_lines(changes):
    """Return the clean file with some lines replaced; line 1 is the header."""
    lines = list(LINES)
    for number, line in changes.items():
        lines[number - 2] = line
    return text(lines)


def with_prediction(value, *numbers):
    return with_lines({number: f"{IDS[number - 2]},{value}" for number in numbers or (4,)})


def with_id(value, number=2):
    return with_lines({number: f"{value},{PREDICTIONS[number - 2]}"})


def columns(*build, header):
    return text([",".join(make(place) for make in build) for place in range(ROWS)], header=header)


def the_id(place):
    return IDS[place]


def the_prediction(place):
    return PREDICTIONS[place]


CLEAN = text(LINES)


def zipped(entries, *, compression=zipfile.ZIP_DEFLATED):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", compression) as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), content, compression)
    return target.getvalue()


def gzipped(content):
    return gzip.compress(content, mtime=0)


def mark_encrypted(archive):
    """Set the encryption flag in the local and the central header."""
    changed = bytearray(archive)
    struct.pack_into("<H", changed, 6, 1)
    struct.pack_into("<H", changed, archive.index(b"PK\x01\x02") + 8, 1)
    return bytes(changed)


def symlink_zip():
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        entry = zipfile.ZipInfo("p.csv", (2020, 1, 1, 0, 0, 0))
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
    return target.getvalue()


def damaged_gzip():
    changed = bytearray(gzipped(CLEAN))
    changed[-6] ^= 0xFF
    return bytes(changed)


def lying_end():
    """Return an archive whose directory size follows the signature of a fake end record."""
    archive = bytearray(zipped({f"{n}": b"" for n in range(22_000)}, compression=zipfile.ZIP_STORED))
    archive[-18:-14], archive[-6:-2] = b"PK\x05\x06", bytes(4)
    return bytes(archive)


SIMPLE: dict[str, bytes] = {
    # Container and encoding
    "plain": CLEAN,
    "carriage-returns-only": text(LINES, end="\r"),
    "blank-lines-at-the-end": CLEAN + b"\n\n  \n",
    "cr-cr-lf": text(LINES, end="\r\r\n"),
    "byte-order-mark": b"\xef\xbb\xbf" + CLEAN,
    "two-byte-order-marks": b"\xef\xbb\xbf\xef\xbb\xbf" + CLEAN,
    "utf-16": CLEAN.decode().encode("utf-16"),
    "utf-16-without-mark": CLEAN.decode().encode("utf-16-le"),
    "latin-1": with_lines({5: "7000003,0.5X"}).replace(b"0.5X", b"0.5\xe9"),
    "nul-bytes": with_lines({9: "7000007,0.\x005", 20: "7000\x00018,0.5", 31: "\x00"}),
    "empty": b"",
    "header-only": text([]),
    "blank-lines-in-the-middle": text([*LINES[:399], "", *LINES[399:700], " ", *LINES[700:]]),
    "gzip": gzipped(CLEAN),
    "gzip-of-empty-members": gzipped(b"") * 100_001 + gzipped(CLEAN),
    "zero-bytes-at-the-end": CLEAN[:8192] + bytes(len(CLEAN) - 8192),
    "gzip-with-padding": gzipped(CLEAN) + bytes(512),
    "zip": zipped({"predictions.csv": CLEAN}),
    "zip-from-a-mac": zipped({"p.csv": CLEAN, "__MACOSX/._p.csv": b"\0\5\x16\7", ".DS_Store": b"x"}),
    "zip-of-two": zipped({"a.csv": CLEAN, "b.csv": CLEAN}),
    "zip-in-gzip": gzipped(zipped({"p.csv": CLEAN})),
    "zip-with-parent-path": zipped({"../p.csv": CLEAN}),
    "zip-with-bzip2": zipped({"p.csv": CLEAN}, compression=zipfile.ZIP_BZIP2),
    "gzip-with-rubbish-behind": gzipped(CLEAN) + b"rubbish",
    "excel": zipped({"[Content_Types].xml": b"<x/>", "xl/workbook.xml": b"<x/>"}),
    "json": json.dumps([{"id": 1, "prediction": 0.5}]).encode(),
    "bzip2": bz2.compress(CLEAN),
    # Header, columns and delimiter
    "no-header": text(LINES[1:], header=LINES[0]),
    "reordered": columns(the_prediction, the_id, header="prediction,id"),
    "whole-lines-quoted": text([f'"{line}"' for line in LINES], header=f'"{HEADER}"'),
    "cyrillic-id": CLEAN.replace(b"id,", "\u0456d,".encode()),
    "nul-byte-in-header": CLEAN.replace(b"id,", b"id\0,"),
    "pandas-index": columns(str, the_id, the_prediction, header=",id,prediction"),
    "extra-column": columns(the_id, the_prediction, lambda _: "1", header="id,prediction,target"),
    "two-predictions": columns(the_id, the_prediction, the_prediction, header="id,prediction,prediction"),
    "header-repeated": text([*LINES[:600], HEADER, *LINES[600:]]),
    "comment-line": b"# model v2\n" + CLEAN,
    "excel-separator-line": b"sep=,\r\n" + text(LINES, end="\r\n"),
    "semicolon": CLEAN.replace(b",", b";"),
    "decimal-comma": text([line.replace(".", ",") for line in LINES]),
    "wrong-field-counts": with_lines({17: "7000015,0.5,1", 18: "7000016", 19: "1,2,3,4", 30: "x"}),
    "stray-quote": with_lines({3: '7000001,0.5"', 8: '70"00006,0.5'}),
    "quote-never-closed": with_lines({3: '"7000001,0.5'}),
    "line-break-in-quotes": with_lines({3: '"7000001\n",0.5', 90: '7000088,"0.5\n\n"'}),
    "many-columns": text(LINES, header=",".join(f"c{n}" for n in range(5000))),
    # Ids
    "duplicate-other-value": text([*LINES[:88], "7000005,0.75", *LINES[88:]]),
    "pasted-six-times": text(LINES * 6),
    "unknown-id": text([*LINES[:86], "123,0.5", *LINES[86:]]),
    "decimal-ids": text([line.replace(",", ".0,") for line in LINES]),
    "scientific-id": with_id("7e6"),
    "leading-zero": with_id("07000000"),
    "spaces-around": text([f" {n}\t,\t{v}  " for n, v in zip(IDS, PREDICTIONS, strict=True)]),
    "no-break-space-in-id": with_id("7000000\u00a0"),
    # Predictions
    "notations": with_lines(
        {
            2: f"{IDS[0]},1e-3",
            3: f"{IDS[1]},1E-03",
            4: f"{IDS[2]},.5",
            5: f"{IDS[3]},5.e-1",
            6: f"{IDS[4]},+.75",
            7: f"{IDS[5]},1.",
            8: f"{IDS[6]},-0.0",
        }
    ),
    "logits": with_lines({9: "7000007,-3.2", 11: "7000009,100"}),
    "nan": with_prediction("NaN", 4, 5, 6, 7, 8, 9, 1000).replace(b"NaN", b"nan", 2),
    "empty-prediction": with_prediction("", 4, 12),
    "too-large": with_prediction("1e400"),
    "unicode-minus": with_prediction("−0.5"),  # noqa: RUF001
    "missing-values": with_lines(
        {
            line: f"{IDS[line - 2]},{value}"
            for line, value in enumerate(["None", "null", "NA", "#N/A", "#DIV/0!", "N/A", "-"], start=4)
        }
    ),
    "field-too-long": with_prediction("0." + "1" * 600),
    "line-too-long": with_prediction("0." + "1" * 60_000),
    "saturated": text(
        [f"{n},{v if k % 3 else '1.0'}" for k, (n, v) in enumerate(zip(IDS, PREDICTIONS, strict=True))]
    ),
    # Combinations
    "everything-wrong-at-once": (
        text(
            [
                *LINES[:10],
                "",
                "7000010,nan",
                "7000011,",
                "7000012;0.5",
                "7e6,0.5",
                "123,0.5",
                "7000005,0.5",
                "7000013,0,5",
                '7000014,0.5"',
                *LINES[15:],
            ],
            header="Id,Prediction",
        )
        + b"\xff\xfe,0.5\n"
    ),
    "shuffled": text(random.Random(7).sample(LINES, ROWS)),
    "float32-ids": text([f"{int(np.float32(20_000_000 + k))},{v}" for k, v in enumerate(PREDICTIONS)]),
    "decomposed-letters": text([f"cafe\u0301 {k},{v}" for k, v in enumerate(PREDICTIONS)]),
    "encrypted-zip": mark_encrypted(zipped({"p.csv": CLEAN})),
    "zip-with-symlink": symlink_zip(),
    "gzip-damaged": damaged_gzip(),
    "zip-damaged": zipped({"p.csv": CLEAN}, compression=zipfile.ZIP_STORED).replace(
        LINES[7].encode(), LINES[8].encode(), 1
    ),
}
OTHER_LABELS = ("insult", "obscene", "sexual, explicit")


def nothing(_):
    return "n/a"


# Files for a competition whose solution has other labels.
WITH_OTHER_LABELS: dict[str, bytes] = {
    "other-label": columns(the_id, the_prediction, nothing, header="id,prediction,insult"),
    "other-labels-anywhere": columns(
        nothing, the_prediction, nothing, the_id, header='obscene,prediction,"sexual, explicit",id'
    ),
    "other-label-repeated": columns(
        the_id, the_prediction, nothing, nothing, header="id,prediction,insult,insult"
    ),
    "other-label-misspelt": columns(
        the_id, the_prediction, nothing, nothing, header="id,prediction,insult,Obscene"
    ),
    "other-label-and-the-label": columns(
        the_id, the_prediction, nothing, nothing, header="id,prediction,target,insult"
    ),
    "other-label-and-index": columns(str, the_id, the_prediction, nothing, header=",id,prediction,insult"),
    "other-label-misquoted": columns(
        the_id, the_prediction, nothing, nothing, header="id,prediction,insult,obscene"
    )
    .replace(b"7000003,0.23757,n/a,n/a", b'7000003,0.23757,"n/a,n/a"')
    .replace(b"7000005,0.39595,n/a,n/a", b'7000005,0.39595,n"a,n/a')
    .replace(b"7000007,0.55433,n/a,n/a", b"7000007,0.55433,\xff,\0"),
    "other-label-and-faults": columns(the_id, the_prediction, nothing, header="id,prediction,insult").replace(
        b"7000003,0.23757,n/a", b"7000003,nan,n/a\n7000003,0.5"
    ),
}
# Large files, generated when they are read.
LARGE: dict[str, Callable[[], bytes]] = {
    "larger-than-the-limit": lambda: b"x" * 61_300_000,
    "gzip-bomb": lambda: gzipped(bytes(51_000_000)),
    "zip-bomb": lambda: zipped({"p.csv": b"0" * 51_000_000}),
    "zip-with-a-huge-directory": lambda: zipped({f"{'x' * 200}{n}.csv": b"" for n in range(6000)}),
    "zip-whose-end-record-lies": lying_end,
}
CASES = {
    name: (lambda content=content: content) for name, content in (SIMPLE | WITH_OTHER_LABELS).items()
} | LARGE


def answer(name):
    other_labels = OTHER_LABELS if name in WITH_OTHER_LABELS else ()
    try:
        accepted = read_submission(CASES[name](), expected_ids(name), other_labels=other_labels)
    except FileRejected as rejection:
        return {"problems": [problem.as_dict() for problem in rejection.problems]}
    return {"notes": [note.as_dict() for note in accepted.notes]}


def expected_ids(name):
    if name == "float32-ids":
        return RowIds.of(str(20_000_000 + place) for place in range(ROWS))
    if name == "decomposed-letters":
        return RowIds.of(f"caf\u00e9 {place}" for place in range(ROWS))
    return ROW_IDS


@pytest.fixture(scope="module")
def golden():
    return json.loads(GOLDEN.read_text())


@pytest.mark.parametrize("name", CASES)
def test_every_case_has_its_golden_result(name, golden):
    assert answer(name) == golden[name]


if __name__ == "__main__":
    answers = {name: answer(name) for name in CASES}
    GOLDEN.write_text(json.dumps(answers, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
