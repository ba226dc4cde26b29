"""What the clients and the adversary did, and what they saw: the history that the checker judges by."""

import threading
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from tests.campaign.findings import BoardRead, History


@dataclass
class Ledger:
    """One for all threads. An upload is `sent` before its first byte leaves, and then acknowledged or not."""

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
        """Note that an upload begins."""
        with self.lock:
            self.sent.add(sha256)
            if is_faulty:
                self.faulty.add(sha256)

    def acknowledge(self, submission_id: int, sha256: str):
        """Note the answer that a file is accepted."""
        with self.lock:
            known = self.acknowledged.setdefault(submission_id, sha256)
        if known != sha256:
            self.surprise(f"Submission {submission_id} was given out for two files.")

    def refuse(self, sha256: str):
        """Note the answer that a file is not accepted, which ends the tries."""
        with self.lock:
            self.refused.add(sha256)

    def surprise(self, text: str):
        """Note an answer that no fault excuses."""
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
