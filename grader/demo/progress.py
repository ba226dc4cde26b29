"""Progress of the demo: the steps that it prints, and a file from which the next start continues."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path


class Steps:
    """Prints numbered steps."""

    def __init__(self, count: int, say: Callable[[str], None]) -> None:
        self._count, self._say = count, say
        self._number = 0
        self._started_at = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the first step."""
        return time.monotonic() - self._started_at

    def begin(self, what: str) -> None:
        """Print the number of the next step, and what it does."""
        self._number += 1
        self._say(f"[{self._number:2}/{self._count}] {what}")


@dataclass(frozen=True, slots=True)
class Progress:
    """Passwords and tokens of the accounts, and the submission of each model; `path` is for its owner."""

    path: Path
    passwords: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    submissions: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path, *, resume: bool) -> "Progress":
        """Return the progress of an earlier start to resume, or an empty one."""
        path = folder / "progress.json"
        kept = json.loads(path.read_text()) if resume and path.exists() else {}
        return cls(path, **kept)

    def write(self) -> None:
        """Write the file atomically."""
        draft = self.path.with_suffix(".draft")
        draft.touch(mode=0o600)
        kept = {name: value for name, value in asdict(self).items() if name != "path"}
        draft.write_text(json.dumps(kept, indent=2))
        draft.replace(self.path)
