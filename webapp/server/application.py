"""Ask the application how large a body may be, and tell it that this process is ending.

The application runs all that it runs before it reads a body: who asks, is there room on the disk, what does
this address take. What it refuses then is never received onto the disk.
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

HEAD = "fairboard.head"
begun = threading.Event()


@dataclass(slots=True)
class Head:
    """What the application is asked by: it sets `limit_bytes`, or answers as it would answer the request.

    `receiving_bytes` is how much other requests of this process may still write to the disk.
    """

    receiving_bytes: int = 0
    limit_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What the application said to a head that it does not want the body of."""

    status: str
    headers: list[tuple[str, str]]
    body: bytes


def ask(application: Callable[..., Iterable[bytes]], environ: dict[str, Any], head: Head) -> Answer | None:
    """Ask; return None where the application set a limit."""
    said: list[tuple[str, list[tuple[str, str]]]] = []
    written: list[bytes] = []

    def start_response(status: str, headers: list[tuple[str, str]], _: Any = None) -> Callable[..., Any]:
        said.append((status, headers))
        return written.append

    parts = application({**environ, HEAD: head}, start_response)
    try:
        body = b"".join([*written, *parts])
    finally:
        if hasattr(parts, "close"):
            parts.close()
    status, headers = said[-1]
    return None if head.limit_bytes is not None else Answer(status, headers, body)
