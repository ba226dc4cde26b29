"""Cache of submissions' ranked predictions on disk, so that a rescoring need not read files again."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.metrics import RankArray
from grader.settings import Settings
from grader.storage.disk_cache import DiskCache

# Raised whenever the reading of files or their ranks may give anything else than before.
FORMAT = 3


@dataclass(frozen=True, eq=False, slots=True)
class RankedFile:
    """What scoring needs of an accepted file: its ranks in the order of the row ids, and its notes.

    `other_labels` are those of its columns that only a competition with such labels accepts.
    """

    ranks: RankArray
    notes: list[dict[str, Any]]
    other_labels: tuple[str, ...] = ()


class RankCache:
    """Ranks by the contents of the file and of the row ids."""

    def __init__(self, files: DiskCache) -> None:
        self._files = files

    @classmethod
    def of(cls, settings: Settings) -> "RankCache | None":
        """Return the cache of an installation on this machine, None if it has no room at all."""
        if not settings.rank_cache_mb:
            return None
        return cls(DiskCache(settings.cache() / "ranks", max_bytes=settings.rank_cache_mb * 1_000_000))

    def get(self, submission_sha256: str, row_ids_sha256: str) -> RankedFile | None:
        """Return the ranks of a file, None if they are not kept."""
        kept = self._files.get(_key(submission_sha256, row_ids_sha256))
        if kept is None:
            return None
        ranks = np.frombuffer(kept.data, kept.facts["type"])
        return RankedFile(ranks, kept.facts["notes"], tuple(kept.facts["other_labels"]))

    def put(self, submission_sha256: str, row_ids_sha256: str, file: RankedFile) -> None:
        """Keep the ranks of a file if there is room; never raises for want of a disk."""
        ranks = np.ascontiguousarray(file.ranks, file.ranks.dtype.newbyteorder("<"))
        facts = {"type": ranks.dtype.str, "notes": file.notes, "other_labels": file.other_labels}
        self._files.put(_key(submission_sha256, row_ids_sha256), facts, ranks.tobytes())


def _key(submission_sha256: str, row_ids_sha256: str) -> str:
    return f"{submission_sha256}-{row_ids_sha256}-{FORMAT}"
