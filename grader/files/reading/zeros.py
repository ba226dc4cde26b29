"""Runs of NUL bytes, as left by a full disk or an interrupted transfer."""

import io
import re
from dataclasses import dataclass, replace
from typing import BinaryIO

from grader.files.reading.problems import FileProblem, Finding

# A shorter run may be caused by the program that wrote the file; disk blocks are far longer.
RUN = bytes(16)
_BLOCK = 1 << 20
_LONG_RUN = re.compile(rb"\0{%d,}" % len(RUN))
_CAUSE = "The usual cause is a full disk or an interrupted transfer. Copy the file again and check its size"


@dataclass(frozen=True, slots=True)
class ZeroRun:
    """A run of zero bytes.

    Attributes
    ----------
    start : int
        Offset of the first zero byte.
    length : int
    line, line_start : int
        Number of the line on which the run starts, and offset of that line.
    is_tail : bool
        Whether the run extends to the end of the file.
    """

    start: int
    length: int
    line: int
    line_start: int
    is_tail: bool


def first_run(stream: BinaryIO) -> ZeroRun | None:
    """Return the first run of at least `len(RUN)` zero bytes, or None, and close the stream."""
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
    """Return the length of the run at the start of a block, and whether it extends to the stream's end."""
    length = 0
    while block:
        others = block.lstrip(b"\0")
        length += len(block) - len(others)
        if others:
            return length, False
        block = stream.read(_BLOCK)
    return length, True


def beginning_of(stream: BinaryIO, size: int) -> BinaryIO:
    """Return a stream of the first `size` bytes of another stream; closing it closes both."""
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
    """Return the run of zero bytes at the end of a text, or None if there is none."""
    count = zero_bytes_at_end(io.BytesIO(data))
    if count < len(RUN):
        return None
    start = len(data) - count
    return ZeroRun(start, count, data.count(b"\n", 0, start) + 1, data.rfind(b"\n", 0, start) + 1, True)


def zero_bytes_at_end(raw: BinaryIO) -> int:
    """Return the number of zero bytes at the end of a file."""
    size = end = raw.seek(0, io.SEEK_END)
    while end:
        begin = max(0, end - _BLOCK)
        raw.seek(begin)
        kept = len(raw.read(end - begin).rstrip(b"\0"))
        if kept:
            return size - begin - kept
        end = begin
    return size


def problem_of(run: ZeroRun) -> FileProblem:
    """Return the problem that describes a run of zero bytes and its usual cause."""
    zeros = f"{run.length:,} zero bytes (NUL)"
    if not run.is_tail:
        fact = f"Line {run.line:,} has {zeros} in a row"
    elif run.start == 0:
        fact = f"The file contains only {zeros}"
    else:
        fact = f"The file ends with {zeros}, starting on line {run.line:,}"
    return FileProblem(
        "zero_bytes",
        f"{fact}. {_CAUSE}.",
        line=run.line,
        lines=(run.line,),
        expected="text without zero bytes",
        found=zeros,
    )


def describe_run(data: bytes, offset: int) -> Finding:
    """Describe the first run of zero bytes after `offset`, with its usual cause."""
    run = _LONG_RUN.search(data, offset)
    count = f"{len(run[0]) if run else 0:,} zero bytes (NUL)"
    return Finding(
        f"{count} in a row; expected id and prediction", "text without zero bytes", count, f"{_CAUSE}."
    )


def explained(problem: FileProblem, raw: BinaryIO) -> FileProblem:
    """Extend the problem of a damaged archive if the file ends with zero bytes."""
    count = zero_bytes_at_end(raw)
    if problem.code != "damaged_archive" or count < len(RUN):
        return problem
    return replace(
        problem,
        message=f"{problem.message} The file ends with {count:,} zero bytes (NUL). {_CAUSE}.",
        found=f"{problem.found}; {count:,} zero bytes (NUL) at the end",
    )
