"""SQLite backups in the format of development versions: one folder with the manifest `backup.json`."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Self
from urllib.parse import quote

from sqlalchemy import Connection, NullPool, create_engine

from grader.maintenance import database_copies
from grader.maintenance.backup_store import NotABackup
from grader.storage.stores import LocalStorage

FORMAT = 1
MANIFEST, DATABASE_FOLDER, BLOB_FOLDER = "backup.json", "database", "blobs"
SQLITE_FILE = "fairboard.db"


@dataclass
class OldBackup:
    """A backup of format 1, with the fields of its manifest that a restore needs."""

    folder: Path
    made_at: datetime
    revision: str
    files: dict[str, str]
    with_blobs: bool
    blob_count: int
    secrets: list[str]
    secret_key_mark: str

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the manifest and verify the database files; raise NotABackup."""
        try:
            data = json.loads((folder / MANIFEST).read_text())
            if data.get("format") != FORMAT:
                raise NotABackup(
                    f"{folder} was created by an incompatible version of Fairboard: {data.get('fairboard')}."
                )
            if data["database"] != "sqlite":
                raise NotABackup(
                    f"{folder} contains a PostgreSQL database in an old format. Restore it with Fairboard "
                    f"{data.get('fairboard')}, which created it, and upgrade the result."
                )
            data["made_at"] = datetime.fromisoformat(data["made_at"])
            names = set(cls.__dataclass_fields__) - {"folder"}
            found = cls(folder=folder, **{name: data[name] for name in names})
        except (ValueError, KeyError) as error:
            raise NotABackup(f"{folder / MANIFEST} cannot be read: {error}.") from None
        changed = [name for name, sha256 in found.files.items() if found._sha256(name) != sha256]
        if changed:
            raise NotABackup(f"The backup is damaged: these files have changed: {', '.join(changed)}.")
        count = sum(1 for _ in found._blobs.blobs())
        if found.with_blobs and count != found.blob_count:
            raise NotABackup(f"The backup is damaged: it contains {count:,} of {found.blob_count:,} blobs.")
        return found

    def blobs(self) -> Iterator[str]:
        """Yield the names of all blobs."""
        return (blob.sha256 for blob in self._blobs.blobs())

    def open_blob(self, sha256: str) -> IO[bytes]:
        """Open a blob."""
        return self._blobs.open(sha256)

    def fill(self, connection: Connection) -> list[str]:
        """Insert all rows within `database_copies.filling`; return no differences, which are unknown."""
        path = quote(str((self.folder / DATABASE_FOLDER / SQLITE_FILE).absolute()))
        engine = create_engine(f"sqlite:///file:{path}?mode=ro&immutable=1&uri=true", poolclass=NullPool)
        with engine.connect() as source:
            targets = {each.name: each for each in database_copies.tables(connection)}
            for each in database_copies.tables(source):
                columns = [column.name for column in each.columns]
                rows = database_copies.read_rows(source, each, columns)
                database_copies.insert_rows(connection, targets[each.name], columns, rows)
        return []

    @property
    def _blobs(self) -> LocalStorage:
        return LocalStorage(self.folder / BLOB_FOLDER)

    def _sha256(self, name: str) -> str:
        try:
            with (self.folder / DATABASE_FOLDER / name).open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            return ""
