"""File transfer: uploads with progress, tables as submission files, and resumable downloads."""

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader, FileIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from grader.client.errors import Unusable

if TYPE_CHECKING:
    import pandas as pd

    from grader.client.transport import Transport

OnProgress = Callable[[int, int], None]
COLUMNS = ["id", "prediction"]
FRAME_NAME = "predictions.csv"
_SHA256 = re.compile(r'"([0-9a-f]{64})"')


class CountedFile(BufferedReader):
    """A file that reports the number of bytes read, and its size, to `on_progress`."""

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
    transport: "Transport",
    address: str,
    path: Path,
    *,
    replace: bool = True,
    on_progress: OnProgress | None = None,
) -> Path:
    """Download a file, resume an interrupted download, and skip a file that is up to date.

    An incomplete file is called ``NAME.SHA256.part``. Symbolic links are not followed. Raises `Unusable` if a
    different file exists at this path, unless `replace` is true, or if the downloaded file has another sha256
    than on the server. `on_progress` receives the bytes present and the size, 0 if unknown.
    """
    try:
        transport.persistently(lambda: _attempt(transport, address, path, replace, on_progress))
    except OSError as error:
        raise Unusable(f"{path} cannot be written: {error.strerror}.") from error
    return path


def _attempt(
    transport: "Transport", address: str, path: Path, replace: bool, on_progress: OnProgress | None
) -> None:
    replaces = replace or not os.path.lexists(path)
    headers = {"Accept": "*/*", "Accept-Encoding": "identity"}
    parts = _parts_of(path) if replaces else {}
    for digest, part in parts.items():
        if _sha256(part) == digest:
            part.replace(path)
            return
        headers |= {"Range": f"bytes={part.stat().st_size}-", "If-Range": f'"{digest}"'}
    if "Range" not in headers and path.is_file():
        headers["If-None-Match"] = f'"{_sha256(path)}"'
    with transport.streamed("GET", address, headers=headers) as response:
        if response.status_code == 304:
            return
        if not replaces:
            raise Unusable(
                f"{path} differs from the file on the server and was not replaced. Rename or delete it, or "
                "replace it with `download --force` (in Python, replace=True)."
            )
        tag = _SHA256.fullmatch(response.headers.get("ETag", ""))
        part = path.with_name(f"{path.name}.{tag[1] if tag else '0' * 64}.part")
        goes_on = response.status_code == 206
        done = part.stat().st_size if goes_on else 0
        size = done + int(response.headers.get("Content-Length", 0))
        flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if goes_on else os.O_TRUNC)
        flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(part, flags, 0o666), "wb") as file:
            for piece in response.iter_bytes():
                done += file.write(piece)
                if on_progress:
                    on_progress(done, size)
    if tag and _sha256(part) != tag[1]:
        part.unlink()
        raise Unusable(f"{path.name} was damaged in transit and has been deleted. Download it again.")
    part.replace(path)
    for outdated in _parts_of(path).values():
        outdated.unlink()


def _parts_of(path: Path) -> dict[str, Path]:
    """Return the incomplete downloads of a file, which are no links, by their sha256."""
    name = re.compile(re.escape(path.name) + r"\.([0-9a-f]{64})\.part")
    found = {part: name.fullmatch(part.name) for part in path.parent.iterdir()}
    return {
        each[1]: part for part, each in found.items() if each and part.is_file() and not part.is_symlink()
    }


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
