"""Progress of the demo, stored in a file so that the next start continues where this one ended."""

import json
from pathlib import Path
from threading import Lock
from typing import Any

NAME = "progress.json"


class Progress:
    """Who was entered with which login, and which model's file became which submission.

    It holds passwords and tokens of the demo's accounts: its file is for its owner's eyes.
    """

    def __init__(self, folder: Path, *, resume: bool) -> None:
        path = folder / NAME
        kept = json.loads(path.read_text()) if resume and path.exists() else {}
        self.passwords: dict[str, str] = kept.get("passwords", {})
        self.tokens: dict[str, str] = kept.get("tokens", {})
        self.submissions: dict[str, int] = kept.get("submissions", {})
        self._path = path
        self._lock = Lock()

    def note(self, known: dict[str, Any], name: str, value: str | int) -> None:
        """Add one thing to `passwords`, `tokens` or `submissions` and write the file, whole or not at all."""
        with self._lock:
            known[name] = value
            draft = self._path.with_suffix(".draft")
            draft.touch(mode=0o600)
            draft.write_text(
                json.dumps(
                    {
                        "passwords": self.passwords,
                        "tokens": self.tokens,
                        "submissions": self.submissions,
                    },
                    indent=2,
                )
            )
            draft.replace(self._path)
