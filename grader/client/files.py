"""File transfer: uploads with progress, tables as submission files, and resumable downloads."""

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader, FileIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, BinaryIO

import httpx

from grader.client.errors import DamagedDownload, Refused, Unusable
from grader.client.transport import Transport

if TYPE_CHECKING:
    import pandas as pd

OnProgress = Callable[[int, int], None]
COLUMNS = ["id", "prediction"]
FRAME_NAME = "predictions.csv"
PARTS = (".part", ".part-etag")  # suffixes of a download in progress
_SHA256 = re.compile(r'"?([0-9a-f]{64})"?')


class CountedFile(BufferedReader):
    """A file that reports how much of it has been read.

    Parameters
    ----------
    path : Path
    on_progress : callable, optional
        Receives the bytes read and the size.
    """

    def __init__(self, path: Path, on_progress: OnProgress | None) -> None:
        try:
            super().__init__(FileIO(path))
        except OSError as error:
            raise Unusable(f"The file {path} cannot be read: {error.strerror}.") from error
        self._size = path.stat().st_size
        self._on_progress = on_progress

    def read(self, size: int | None = -1, /) -> bytes:
        """Read a piece of the file and report the progress."""
        piece = super().read(size)
        if self._on_progress and piece:
            self._on_progress(self.tell(), self._size)
        return piece


@contextmanager
def as_file(submission: "pd.DataFrame | Path | str") -> Iterator[Path]:
    """Yield the path of a submission; a table is written to a temporary file with full precision.

    A table must have the columns ``id`` and ``prediction``; ``id`` may be the index.
    """
    if isinstance(submission, str | Path):
        yield Path(submission)
        return
    table = submission if "id" in submission.columns else submission.reset_index()
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        raise Unusable(
            f"The table has no column {' and no column '.join(missing)}; expected id and prediction."
        )
    with TemporaryDirectory(prefix="fairboard-") as folder:
        path = Path(folder) / FRAME_NAME
        table[COLUMNS].to_csv(path, index=False)
        yield path


def download(
    transport: Transport,
    address: str,
    path: Path,
    *,
    replace: bool = True,
    on_progress: OnProgress | None = None,
) -> Path:
    """Download a file, resume an interrupted download, and skip a file that is up to date.

    An incomplete file is called ``NAME.part``. Symbolic links are not followed. Raises `Unusable` if a
    different file exists at this path, unless `replace` is true. Raises `DamagedDownload` if the sha256 of
    the file differs from the server's. `on_progress` receives the bytes present and the size, 0 if unknown.
    """
    transfer = _Transfer(path, on_progress, replace=replace)
    try:
        if transport.persistently(lambda: transfer.attempt(transport, address)):
            transfer.finish()
    except OSError as error:
        raise Unusable(f"{path} cannot be written: {error.strerror}.") from error
    return path


class _Transfer:
    """A download in progress, with its bytes in ``NAME.part`` and their ETag in another file."""

    def __init__(self, path: Path, on_progress: OnProgress | None, *, replace: bool) -> None:
        self._path = path
        self._replace = replace
        self._part = path.with_name(f"{path.name}{PARTS[0]}")
        self._tag = path.with_name(f"{path.name}{PARTS[1]}")
        self._on_progress = on_progress
        self._sha256 = ""

    def attempt(self, transport: Transport, address: str) -> bool:
        """Download the file or the rest of it; return False if the local file is up to date."""
        headers = {"Accept": "*/*", "Accept-Encoding": "identity"}
        goes_on = self._replaces() and self._part.is_file() and self._tag.is_file()
        if goes_on:
            with _opened(self._tag, os.O_RDONLY) as tag:
                headers |= {"Range": f"bytes={self._part.stat().st_size}-", "If-Range": tag.read().decode()}
        elif self._path.is_file():
            headers["If-None-Match"] = f'"{_sha256(self._path)}"'
        try:
            with transport.streamed("GET", address, headers=headers) as response:
                if response.status_code != 304:
                    if not self._replaces():
                        raise Unusable(
                            f"{self._path} differs from the file on the server and was not replaced. Rename "
                            "or delete it, or replace it with `download --force` (in Python, replace=True)."
                        )
                    self._receive(response)
                return response.status_code != 304
        except Refused as error:
            if not goes_on or error.status != 416:
                raise
            # No bytes are left: the file is complete or has changed.
            self._forget()
            return self.attempt(transport, address)

    def finish(self) -> None:
        """Rename the complete file; raise DamagedDownload if it differs from the server's."""
        if self._sha256 and _sha256(self._part) != self._sha256:
            self._forget()
            raise DamagedDownload(
                f"{self._path.name} was damaged in transit and has been deleted. Download it again."
            )
        self._part.replace(self._path)
        self._forget()

    def _replaces(self) -> bool:
        """Return whether there is no file at the path or it may be replaced."""
        return self._replace or not os.path.lexists(self._path)

    def _receive(self, response: httpx.Response) -> None:
        goes_on, tag = response.status_code == 206, response.headers.get("ETag", "")
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise Unusable(f"{response.url} sent an encoded file, which was not requested.")
        self._tag.unlink(missing_ok=True)
        # A weak ETag does not guarantee identical bytes.
        if tag.startswith('"'):
            with _opened(self._tag, os.O_WRONLY | os.O_CREAT) as kept:
                kept.write(tag.encode())
        named = _SHA256.fullmatch(tag)
        self._sha256 = named[1] if named else ""
        done = self._part.stat().st_size if goes_on else 0
        size = done + int(response.headers.get("Content-Length", 0))
        flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if goes_on else os.O_TRUNC)
        with _opened(self._part, flags) as file:
            for piece in response.iter_bytes():
                done += file.write(piece)
                if self._on_progress:
                    self._on_progress(done, size)

    def _forget(self) -> None:
        self._part.unlink(missing_ok=True)
        self._tag.unlink(missing_ok=True)


def _opened(path: Path, flags: int) -> BinaryIO:
    """Open a file that is not a symbolic link."""
    descriptor = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0), 0o666)
    return os.fdopen(descriptor, "rb" if flags == os.O_RDONLY else "wb")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
