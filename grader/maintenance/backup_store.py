"""Backup store in a folder or bucket: objects of all backups, and a record for each complete one.

A target contains two blob storages, `objects` and `backups`. A record is written last and lists the objects
that its backup needs. Content that several backups need is stored once.
"""

from pathlib import Path
from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, PrivateAttr, ValidationError

from grader.maintenance.database_copies import Hash, TableCopy
from grader.storage import disk
from grader.storage.stores import BlobDamaged, BlobMissing, Storage, open_storage

OBJECTS, RECORDS = "objects", "backups"


class Record(BaseModel, extra="forbid"):
    """A complete backup: its tables, and the sizes of its blobs."""

    name: str
    made_at: AwareDatetime
    fairboard: str
    revision: str
    tables: dict[str, TableCopy]
    blobs: dict[Hash, int]
    settings: dict[str, Any]
    secret_key_mark: str
    format: Literal[5] = 5
    _sha256: str = PrivateAttr("")  # the name of the record in its store

    @property
    def objects(self) -> dict[str, int]:
        """The sizes of all objects, including those shared with other backups."""
        return self.blobs | {
            sha256: size for copy in self.tables.values() for sha256, size in copy.parts.items()
        }

    @property
    def size(self) -> int:
        """The total size of all objects."""
        return sum(self.objects.values())

    def damage(self, present: dict[str, int]) -> list[str]:
        """Return the objects that are missing from a listing or have another size."""
        return [name for name, size in self.objects.items() if present.get(name) != size]


class Store:
    """The backups at a target."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.folder = None if target.startswith("s3://") else Path(target).absolute()
        place = target.rstrip("/") if self.folder is None else self.folder.as_uri()
        self.objects: Storage = open_storage(f"{place}/{OBJECTS}")
        self._records: Storage = open_storage(f"{place}/{RECORDS}")

    def prepare(self) -> None:
        """Create the folder, readable only by its owner, and delete old temporary files."""
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            disk.sync(self.folder.parent)
        for storage in (self.objects, self._records):
            storage.remove_abandoned()

    def usable(self) -> dict[str, int]:
        """Return the sizes of all objects except those that were truncated after a backup."""
        sizes = self.sizes()
        damaged = {name for record in self.records()[0] for name in record.damage(sizes)}
        return {name: size for name, size in sizes.items() if name not in damaged}

    def sizes(self) -> dict[str, int]:
        """Return the sizes of all objects."""
        return {blob.sha256: blob.size for blob in self.objects.blobs()}

    def records(self) -> tuple[list[Record], list[str]]:
        """Return all complete backups, oldest first, and the messages about unreadable records."""
        records, problems = [], []
        for blob in self._records.blobs():
            try:
                record = Record.model_validate_json(self._records.read(blob.sha256))
                record._sha256 = blob.sha256
                records.append(record)
            except BlobMissing:  # deleted since it was listed
                continue
            except (BlobDamaged, ValidationError):
                problems.append(
                    f"The record {blob.sha256[:9]} is damaged, or another version of Fairboard created it."
                )
        return sorted(records, key=lambda each: (each.made_at, each.name)), problems

    def add_record(self, record: Record) -> None:
        """Make a backup complete."""
        record._sha256 = self._records.put(record.model_dump_json().encode()).sha256

    def delete_record(self, record: Record) -> None:
        """Delete a backup; its objects remain."""
        self._records.delete(record._sha256)
