"""Benchmark of hostile files: CPU time for reading them, relative to an honest file.

Run ``python benchmarks/hostile_files.py``. Each file has the maximum size of a submission or decompresses to
this size. The honest file has the format that pandas writes. No file should take three seconds of CPU time;
the exit code is 1 if any file does.
"""

import gzip
import io
import random
import sys
import time
import zipfile
from collections.abc import Callable, Iterator

from grader.files import FileRejected, RowIds, read_submission, submission_size_cap

ROWS = 76_564
CAP = submission_size_cap(ROWS)
SIZE = CAP - 100_000
FIRST_ID = 7_000_000
AIM_SECONDS = 3.0
HEADER = b"id,prediction\n"
EMPTY_MEMBER = gzip.compress(b"", mtime=0)


def usual() -> bytes:
    """Return an honest file in the format that pandas writes."""
    return HEADER + "".join(f"{FIRST_ID + row},{row / ROWS!r}\n" for row in range(ROWS)).encode()


def filled(line: bytes) -> bytes:
    return HEADER + line * (SIZE // len(line))


def members(content: bytes, size: int) -> bytes:
    """Return gzip data with one member for every `size` bytes of content."""
    pieces = (content[start : start + size] for start in range(0, len(content), size))
    return b"".join(gzip.compress(piece, 1, mtime=0) for piece in pieces)


def zip_of(entries: Iterator[tuple[str, bytes]]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return target.getvalue()


def zip_with_a_lying_end() -> bytes:
    """Return an archive with many entries, whose end record contains the signature of another one."""
    archive = bytearray(zip_of((f"{number}", b"") for number in range(200_000)))
    archive[-18:-14], archive[-6:-2] = b"PK\x05\x06", bytes(4)
    return bytes(archive)


def files() -> dict[str, Callable[[], bytes]]:
    clean, chance = usual(), random.Random(0)
    return {
        "gzip of empty members": lambda: EMPTY_MEMBER * (SIZE // len(EMPTY_MEMBER)),
        "gzip of empty members, up to the limit": lambda: EMPTY_MEMBER * 99_000 + gzip.compress(clean),
        "gzip of empty members and padding": lambda: (EMPTY_MEMBER + b"\0") * 99_000 + gzip.compress(clean),
        "gzip, a member for each row": lambda: b"".join(
            gzip.compress(line, mtime=0) for line in clean.splitlines(keepends=True)
        ),
        "gzip, members of 4 KB": lambda: members(clean + b"\n" * (SIZE - len(clean)), 4096),
        "gzip, members of 64 KB (bgzip)": lambda: members(clean, 65_280) + EMPTY_MEMBER,
        "gzip, stored members of 4 KB": lambda: b"".join(
            gzip.compress(chance.randbytes(4096), 0, mtime=0) for _ in range(SIZE // 4200)
        ),
        "gzip with a name of 48 MB": lambda: (
            b"\x1f\x8b\x08\x08" + bytes(6) + b"n" * (SIZE - 2_000_000) + b"\0" + gzip.compress(clean)[10:]
        ),
        "gzip bomb": lambda: gzip.compress(bytes(4 * CAP)),
        "gzip with a damaged end": lambda: gzip.compress(clean)[:-4] + b"rest",
        "gzip padded with zero bytes": lambda: gzip.compress(clean) + bytes(SIZE - 2_000_000),
        "zip of 20,000 entries": lambda: zip_of((f"{number}", b"") for number in range(20_000)),
        "zip of 200,000 entries": lambda: zip_of((f"{number}", b"") for number in range(200_000)),
        "zip with a false end record": zip_with_a_lying_end,
        "zip bomb": lambda: zip_of(iter([("a.csv", bytes(SIZE))])),
        "blank lines": lambda: filled(b"\n") + b"x",
        "carriage returns": lambda: filled(b"\r") + b"x",
        "one long line": lambda: filled(b"x"),
        "commas": lambda: filled(b","),
        "a header of commas": lambda: b"," * SIZE,
        "a header of a million columns": lambda: b",".join(b"c%d" % n for n in range(1_000_000)) + b"\n",
        "a header of quotes": lambda: b'"' * SIZE,
        "lines of commas": lambda: filled(b"," * 500 + b"\n"),
        "lines of quotes": lambda: filled(b'"' * 99 + b"\n"),
        "long lines of quotes": lambda: filled(b'"' * 4001 + b"\n"),
        "quoted fields with doubled quotes": lambda: filled(b'"' + b'""' * 2000 + b'",1\n'),
        "open quotes": lambda: filled(b'"a\n'),
        "open quotes over lines": lambda: filled(b'"a\n' + b"b\n" * 9),
        "open quotes over long lines": lambda: filled(b'"a\n' + (b'""' * 2000 + b"\n") * 9),
        "zero bytes": lambda: bytes(SIZE),
        "lines of zero bytes": lambda: filled(b"\0\n"),
        "holes of zero bytes": lambda: filled(b"1,0.5" + bytes(20) + b"\n"),
        "a zero byte and a line end": lambda: HEADER + b"\0\r" * (SIZE // 2),
        "invalid UTF-8": lambda: filled(b"\xff\n"),
        "emoji": lambda: filled("\U0001f600,\U0001f600\n".encode()),
        "long fields": lambda: filled(b"1" * 3000 + b"x\n"),
        "noise": lambda: HEADER + chance.randbytes(SIZE),
        "headers": lambda: filled(HEADER),
        "comments": lambda: b"#\n" * (SIZE // 2),
        "the same id in all rows": lambda: filled(b"7000000,0.5\n"),
        "unknown ids": lambda: filled(b"1,x\n"),
        "ids with long exponents": lambda: filled(b"7e99999,0.5\n"),
        "nested JSON": lambda: b"[" * SIZE,
        "nested XML": lambda: b"<?xml version='1.0'?>" + b"<a>" * (SIZE // 3),
    }


def seconds(data: bytes, row_ids: RowIds) -> tuple[float, str]:
    """Return the CPU time for reading a file, and the outcome."""
    begin = time.process_time()
    try:
        read_submission(data, row_ids)
        answer = "accepted"
    except FileRejected as rejected:
        answer = ", ".join(problem.code for problem in rejected.problems)
    return time.process_time() - begin, answer


def main() -> int:
    row_ids = RowIds.of([str(FIRST_ID + row) for row in range(ROWS)])
    clean = usual()
    base = min(seconds(clean, row_ids)[0] for _ in range(3))
    print(f"An honest file of {ROWS:,} rows ({len(clean) / 1e6:.1f} MB): {base:.2f} s.")
    misses = []
    for name, make in files().items():
        taken, answer = seconds(make(), row_ids)
        print(f"{taken / base:6.2f} times, {taken:5.2f} s  {name}: {answer[:90]}")
        if taken > AIM_SECONDS:
            misses.append(name)
    print(f"Over {AIM_SECONDS:.0f} s: {', '.join(misses) or 'none'}.")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
