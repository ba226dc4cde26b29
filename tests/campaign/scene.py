"""Data shared by the actors of a campaign."""

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.campaign.installation import Installation
from tests.invariants.findings import BoardRead, History


@dataclass
class Ledger:
    """Actions and responses, for comparison with the stored data.

    Uploads are recorded before their first byte is sent. Surprises are responses that no fault can explain.
    """

    sent: set[str] = field(default_factory=set)
    acknowledged: dict[int, str] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    faulty: set[str] = field(default_factory=set)
    board_reads: list[BoardRead] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    deeds: Counter[str] = field(default_factory=Counter)
    surprises: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def send(self, sha256: str, *, is_faulty: bool):
        """Record the start of an upload."""
        with self.lock:
            self.sent.add(sha256)
            if is_faulty:
                self.faulty.add(sha256)

    def acknowledge(self, submission_id: int, sha256: str):
        """Record that a file was accepted."""
        with self.lock:
            known = self.acknowledged.setdefault(submission_id, sha256)
        if known != sha256:
            self.surprises.append(f"Submission {submission_id} was returned for two files.")

    def count(self, what: Counter[str], name: str):
        with self.lock:
            what[name] += 1

    def history(self, log: str) -> History:
        """Return the history for the checker, with the service's log."""
        with self.lock:
            accepted = set(self.acknowledged.values())
            return History(
                acknowledged=dict(self.acknowledged),
                unanswered=self.sent - accepted - self.refused,
                refused=self.refused - accepted,
                unhealthy=set(self.faulty),
                board_reads=list(self.board_reads),
                texts=[*self.texts, log],
            )


class Scene(NamedTuple):
    """A running installation, the ledger, and the event that ends all actions."""

    installation: Installation
    ledger: Ledger
    truce: threading.Event
