"""Lock file that allows one `fairboard serve` per data folder and identifies its holder."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from grader.errors import ErrorKind, OrganizerRefusal


@contextmanager
def hold(data_dir: Path) -> Iterator[TextIO]:
    """Lock the folder until the block or the process ends; raise OrganizerRefusal if it is locked."""
    with (data_dir / "serve.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            message = (
                f"{data_dir} is already served by {lock.read().strip() or 'another process'}. Stop that "
                "process first, or choose another folder with FAIRBOARD_DATA_DIR."
            )
            raise OrganizerRefusal("already_served", ErrorKind.CONFLICT, message) from None
        describe(lock, f"process {os.getpid()}")
        yield lock


def holder(data_dir: Path) -> str | None:
    """Return the description of the process that serves the folder, if any."""
    try:
        with (data_dir / "serve.lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return (data_dir / "serve.lock").read_text().strip()
    except (FileNotFoundError, PermissionError):
        pass
    return None


def address(data_dir: Path) -> str | None:
    """Return the address at which the folder is served, if any."""
    return (holder(data_dir) or "").partition(" at ")[2] or None


def describe(lock: TextIO, holder: str) -> None:
    """Write a description of the holder, for the error messages of other processes."""
    lock.truncate(0)
    lock.write(holder)
    lock.flush()
