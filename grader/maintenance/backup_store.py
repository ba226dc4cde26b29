"""Backup stores in a folder or a bucket: objects, and records of complete backups.

A store contains `objects/ab/abcdef…` and one record for each complete backup, `backups/NAME.json`. A record
is written last and lists the objects that its backup needs. The name of an object is the SHA-256 hash of its
content.
"""

import io
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, BinaryIO, Literal
from urllib.parse import unquote, urlsplit

from pydantic import AwareDatetime, BaseModel, ValidationError

from grader.crash_points import reach
from grader.errors import OrganizerError
from grader.settings import Settings
from grader.storage import disk
from grader.storage.bucket import PIECE_BYTES, BucketStorage
from grader.storage.stores import CHUNK_BYTES, BlobMissing, StorageUnavailable

OBJECTS, RECORDS, DRAFTS = "objects", "backups", "drafts"
_OBJECT = re.compile(rf"{OBJECTS}/[0-9a-f]{{2}}/[0-9a-f]{{64}}")

Write = Callable[[IO[bytes]], object]
Source = IO[bytes] | io.RawIOBase


class NotABackup(OrganizerError):
    """The data is not a usable backup; the message states the reason."""

    public_name = "not_a_backup"


class Record(BaseModel, frozen=True, extra="forbid"):
    """A complete backup: its time, its objects with their sizes, and the object with its contents."""

    name: str
    made_at: AwareDatetime
    fairboard: str
    contents: str
    objects: dict[str, int]
    blob_count: int
    format: Literal[2] = 2

    @property
    def size(self) -> int:
        """The total size of the objects, including those shared with other backups."""
        return sum(self.objects.values())

    def damage(self, present: dict[str, int]) -> list[str]:
        """Return the objects that are missing from a listing or have another size."""
        return [name for name, size in self.objects.items() if present.get(name) != size]


class Folder:
    """Files below a local folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the sizes of all complete files below a folder."""
        found = {}
        for path in (self.root / folder).rglob("*"):
            with suppress(FileNotFoundError):  # deleted meanwhile
                if stat.S_ISREG((status := path.stat()).st_mode):
                    found[path.relative_to(self.root).as_posix()] = status.st_size
        return found

    def put(self, name: str, write: Write) -> int:
        """Store what `write` writes, durably and atomically; return the size."""
        path, draft = self.root / name, self.root / DRAFTS / secrets.token_hex(16)
        for folder in (self.root, draft.parent, path.parent.parent, path.parent):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            with draft.open("xb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
                size = file.tell()
            reach("backup.before_rename")
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
        # An earlier process may have been killed after it created a folder and before it synced its name.
        for folder in (path.parent, path.parent.parent, self.root, self.root.parent):
            disk.sync(folder)
        return size

    def open(self, name: str) -> BinaryIO:
        """Open a file; raise BlobMissing or StorageUnavailable."""
        try:
            return (self.root / name).open("rb")
        except FileNotFoundError:
            raise BlobMissing(name) from None
        except OSError as error:
            raise StorageUnavailable(f"{error}.") from error

    def delete(self, name: str) -> None:
        """Delete a file if it exists."""
        (self.root / name).unlink(missing_ok=True)

    def remove_abandoned(self) -> int:
        """Delete incomplete files of killed processes."""
        drafts = list((self.root / DRAFTS).glob("*"))
        for draft in drafts:
            draft.unlink(missing_ok=True)
        return len(drafts)


class Bucket(BucketStorage):
    """Files under a prefix of a bucket."""

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the sizes of all files below a folder."""
        with self._asking():
            return {each["path"]: each["size"] for page in self._store.list(folder) for each in page}

    def put(self, name: str, write: Write) -> int:  # type: ignore[override]
        """Store what `write` writes; return the size."""
        with tempfile.TemporaryFile() as file:
            write(file)
            size = file.tell()
            file.seek(0)
            with self._asking():
                # Only files of several pieces need the requests of a multipart upload.
                self._store.put(name, file if size > PIECE_BYTES else file.read())
        return size


Files = Folder | Bucket


class Store:
    """A backup store."""

    def __init__(self, files: Files) -> None:
        self.files = files

    def objects(self) -> dict[str, int]:
        """Return the sizes of all objects."""
        return {name: size for name, size in self.files.sizes(OBJECTS).items() if _OBJECT.fullmatch(name)}

    def put(self, name: str, source: Source) -> int:
        """Store an object; return its size."""
        return self.files.put(name, lambda target: shutil.copyfileobj(source, target, CHUNK_BYTES))

    def records(self) -> tuple[list[Record], list[str]]:
        """Return all complete backups, oldest first, and the messages about unreadable records."""
        found, problems = [], []
        for name in self.files.sizes(RECORDS):
            if name.endswith(".json"):
                record = None
                try:
                    with self.files.open(name) as file, suppress(ValidationError):
                        record = Record.model_validate_json(file.read())
                except BlobMissing:  # deleted since it was listed
                    continue
                if record and name == f"{RECORDS}/{record.name}.json":  # a forged name could be any path
                    found.append(record)
                else:
                    problems.append(
                        f"The record {name} is damaged or was created by a newer version of Fairboard."
                    )
        return sorted(found, key=lambda each: (each.made_at, each.name)), problems

    def put_record(self, record: Record) -> None:
        """Make a backup complete."""
        content = record.model_dump_json().encode()
        self.files.put(f"{RECORDS}/{record.name}.json", lambda target: target.write(content))

    def delete_record(self, record: Record) -> None:
        """Delete a backup; its objects remain."""
        self.files.delete(f"{RECORDS}/{record.name}.json")


def open_store(target: str) -> Store:
    """Return the store at a target."""
    return Store(Bucket(target) if target.startswith("s3://") else Folder(Path(target)))


def is_in_storage(settings: Settings, target: str, *, whole_bucket: bool = False) -> bool:
    """Return whether a target is in the folder, the prefix or the whole bucket of the blob storage."""
    places = []
    for url in (settings.storage(), target):
        parts = urlsplit(url)
        if parts.scheme == "s3":
            place = f"s3://{parts.netloc}{'' if whole_bucket else parts.path}"
        else:
            place = str(Path(unquote(parts.path) if parts.scheme else url).resolve())
        places.append(f"{place.rstrip('/')}/")
    return places[1].startswith(places[0])


def name_of(sha256: str) -> str:
    """Return the name of the object with this content."""
    return f"{OBJECTS}/{sha256[:2]}/{sha256}"


def open_object(files: Files, name: str) -> BinaryIO:
    """Open an object for reading; raise BlobMissing, StorageUnavailable or NotABackup."""
    if not _OBJECT.fullmatch(name):
        raise NotABackup(f"The backup is damaged: {name!r} is not the name of an object.")
    return files.open(name)
