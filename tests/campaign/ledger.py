"""Ledger of actions and responses, for comparison with the stored data."""

import threading
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from tests.campaign.findings import BoardRead, History


@dataclass
class Ledger:
    """A ledger shared by all threads; uploads are recorded before their first byte is sent."""

    sent: set[str] = field(default_factory=set)
    acknowledged: dict[int, str] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    faulty: set[str] = field(default_factory=set)
    board_reads: list[BoardRead] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    picks: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    unsure: set[str] = field(default_factory=set)
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
            self.surprise(f"Submission {submission_id} was returned for two files.")

    def refuse(self, sha256: str):
        """Record that a file was finally rejected."""
        with self.lock:
            self.refused.add(sha256)

    def surprise(self, text: str):
        """Record a response that no fault can explain."""
        with self.lock:
            self.surprises.append(text)

    def count(self, what: Counter[str], name: str):
        with self.lock:
            what[name] += 1

    def history(self) -> History:
        """Return the history for the checker."""
        with self.lock:
            answered = set(self.acknowledged.values()) | self.refused
            return History(
                acknowledged=dict(self.acknowledged),
                unanswered=self.sent - answered,
                refused=self.refused - set(self.acknowledged.values()),
                unhealthy=set(self.faulty),
                board_reads=list(self.board_reads),
                texts=list(self.texts),
            )
