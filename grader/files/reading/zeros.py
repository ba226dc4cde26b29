"""NUL bytes in a file, left by a full disk or a broken transfer."""

import io
import re
from dataclasses import dataclass, replace
from typing import BinaryIO

from grader.files.reading.problems import Finding, Problem

# A shorter run may be an accident of the program that wrote the file; blocks of a disk are far longer.
RUN = bytes(16)
_BLOCK = 1 << 20
_LONG_RUN = re.compile(rb"\0{%d,}" % len(RUN))
_CAUSE = (
    "Usually a copy was cut off, by a full disk or a broken transfer: copy the file again and check its size"
)


@dataclass(frozen=True, slots=True)
class ZeroRun:
    """Zero bytes in a row.

    Attributes
    ----------
    start : int
        Offset of the first one.
    length : int
    line, line_start : int
        Number of the line that it is on, and where that begins.
    is_tail : bool
        Whether nothing follows.
    """

    start: int
    length: int
    line: int
    line_start: int
    is_tail: bool


def first_run(stream: BinaryIO) -> ZeroRun | None:
    """Return the first run of zero bytes that is no accident, None where there is none; closes the stream."""
    with stream:
        lines, line_start, offset, carried = 0, 0, 0, b""
        while block := stream.read(_BLOCK):
            data = carried + block
            start = data.find(RUN)
            end = start if start >= 0 else len(data)
            last = data.rfind(b"\n", 0, end)
            lines += data.count(b"\n", 0, end)
            line_start = offset + last + 1 if last >= 0 else line_start
            if start >= 0:
                length, is_tail = _length(stream, data[start:])
                return ZeroRun(offset + start, length, lines + 1, line_start, is_tail)
            carried = data[len(data.rstrip(b"\0")) :]
            offset += len(data) - len(carried)
    return None


def _length(stream: BinaryIO, block: bytes) -> tuple[int, bool]:
    """Return how long the run is that a block begins with, and whether it reaches to the stream's end."""
    length = 0
    while block:
        others = block.lstrip(b"\0")
        length += len(block) - len(others)
        if others:
            return length, False
        block = stream.read(_BLOCK)
    return length, True


def beginning_of(stream: BinaryIO, size: int) -> BinaryIO:
    """Return a stream of the first `size` bytes of another one, which it closes at its end."""
    return io.BufferedReader(_Beginning(stream, size))


class _Beginning(io.RawIOBase):
    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream, self._left = stream, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._stream.read(min(len(buffer), self._left))
        self._left -= len(data)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()


def tail_of(data: bytes) -> ZeroRun | None:
    """Return the zero bytes that a text ends in, None where it does not end in a run of them."""
    count = zero_bytes_at_end(io.BytesIO(data))
    if count < len(RUN):
        return None
    start = len(data) - count
    return ZeroRun(start, count, data.count(b"\n", 0, start) + 1, data.rfind(b"\n", 0, start) + 1, True)


def zero_bytes_at_end(raw: BinaryIO) -> int:
    """Return how many zero bytes a file ends in."""
    size = end = raw.seek(0, io.SEEK_END)
    while end:
        begin = max(0, end - _BLOCK)
        raw.seek(begin)
        kept = len(raw.read(end - begin).rstrip(b"\0"))
        if kept:
            return size - begin - kept
        end = begin
    return size


def problem_of(run: ZeroRun) -> Problem:
    """Say where a file has zero bytes, and the usual cause."""
    found = f"{run.length:,} zero bytes (NUL)"
    if not run.is_tail:
        fact = f"Line {run.line:,} has {found} in a row"
    elif run.start == 0:
        fact = f"The file holds nothing but {found}"
    else:
        fact = f"The file ends in {found} from line {run.line:,} on"
    return Problem(
        "zero_bytes",
        f"{fact}. {_CAUSE}.",
        line=run.line,
        lines=(run.line,),
        expected="text without zero bytes",
        found=found,
    )


def describe_run(data: bytes, offset: int) -> Finding:
    """Say how long the first run of zero bytes behind `offset` is, and what that usually means."""
    found = _LONG_RUN.search(data, offset)
    count = f"{len(found[0]) if found else 0:,} zero bytes (NUL)"
    return Finding(
        f"{count} in a row; expected id and prediction", "text without zero bytes", count, f"{_CAUSE}."
    )


def explained(problem: Problem, raw: BinaryIO) -> Problem:
    """Add to the problem of a damaged archive that the file ends in zero bytes, where it does."""
    count = zero_bytes_at_end(raw)
    if problem.code != "damaged_archive" or count < len(RUN):
        return problem
    return replace(
        problem,
        message=f"{problem.message} The file ends in {count:,} zero bytes (NUL). {_CAUSE}.",
        found=f"{problem.found}; {count:,} zero bytes (NUL) at the end",
    )
