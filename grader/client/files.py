"""File transfer: uploads, tables as submission files, and resumable downloads."""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from grader.client.errors import Refused, Unusable

if TYPE_CHECKING:
    import pandas as pd

    from grader.client.transport import Transport

OnProgress = Callable[[int, int], None]
FRAME_NAME = "predictions.csv"
RANGE_NOT_SATISFIABLE = 416  # the file on the server is not longer than the incomplete one


@contextmanager
def as_file(submission: "pd.DataFrame | Path | str") -> Iterator[Path]:
    """Yield the path of a submission; a table is written to a temporary file with full precision.

    The ids may be the index of the table, which then has their name.
    """
    if isinstance(submission, str | Path):
        yield Path(submission)
        return
    with TemporaryDirectory(prefix="fairboard-") as folder:
        path = Path(folder) / FRAME_NAME
        submission.to_csv(path, index=submission.index.name is not None)
        yield path


def download(
    transport: "Transport",
    address: str,
    path: Path,
    *,
    replace: bool = True,
    on_progress: OnProgress | None = None,
) -> Path:
    """Download a file, resume an interrupted download, and skip a file that is up to date.

    An incomplete file is called ``NAME.part``. Symbolic links are not followed. Raises `Unusable` if a
    different file exists at this path, unless `replace` is true, or if the downloaded file has another sha256
    than on the server. `on_progress` receives the bytes present and the size.
    """
    try:
        transport.persistently(lambda: _attempt(transport, address, path, replace, on_progress))
    except OSError as error:
        raise Unusable(f"{path} cannot be written: {error.strerror}.") from error
    return path


def _attempt(
    transport: "Transport", address: str, path: Path, replace: bool, on_progress: OnProgress | None
) -> None:
    part = path.with_name(f"{path.name}.part")
    done = part.stat().st_size if part.is_file() else 0
    headers = {"Accept-Encoding": "identity"}
    headers |= {"Range": f"bytes={done}-"} if done else {}
    headers |= {"If-None-Match": f'"{_sha256(path)}"'} if path.is_file() else {}
    try:
        with transport.streamed("GET", address, headers=headers) as response:
            if response.status_code == 304:
                return
            if not replace and os.path.lexists(path):
                raise Unusable(
                    f"{path} differs from the file on the server and was not replaced. Rename or delete it, "
                    "or replace it with `download --force` (in Python, replace=True)."
                )
            done = done if response.status_code == 206 else 0
            size = done + int(response.headers.get("Content-Length", 0))
            with open(part, "ab" if done else "wb", opener=_without_links) as file:
                for piece in response.iter_bytes():
                    done += file.write(piece)
                    if on_progress:
                        on_progress(done, size)
            is_complete = response.headers.get("ETag") == f'"{_sha256(part)}"'
    except Refused as error:
        is_complete = False
        if error.status != RANGE_NOT_SATISFIABLE:
            raise
    if not is_complete:
        part.unlink()
        raise Unusable(f"{path.name} was damaged in transit or changed on the server. Download it again.")
    part.replace(path)


def _without_links(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
