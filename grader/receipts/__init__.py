"""Score receipts, and their verification by a second implementation in pure Python.

The second implementation is slow. It shares no code with `grader.metrics` and `grader.files`, so a difference
reveals an error in one of the implementations. It requires neither NumPy nor a server.
"""

from grader.receipts.reading import UnreadableFile, read_predictions
from grader.receipts.receipt import InvalidReceipt, NonceNeeded, Receipt, Recheck, settings_of, verify
from grader.receipts.recount import RecountSettings
from grader.receipts.truth import SlowTruth, read_truth

__all__ = [
    "InvalidReceipt",
    "NonceNeeded",
    "Receipt",
    "Recheck",
    "RecountSettings",
    "SlowTruth",
    "UnreadableFile",
    "read_predictions",
    "read_truth",
    "settings_of",
    "verify",
]
