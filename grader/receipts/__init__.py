"""Score receipts, and their verification by a second implementation in pure Python.

This is the second implementation of the score: slow, and without any code of `grader.metrics` and
`grader.files`, so that a difference reveals an error in either. It needs neither NumPy nor a server.
"""

from grader.receipts.reading import UnreadableFile, read_predictions
from grader.receipts.receipt import Check, InvalidReceipt, NonceNeeded, Receipt, verify
from grader.receipts.recount import Settings
from grader.receipts.truth import SlowTruth, read_truth

__all__ = [
    "Check",
    "InvalidReceipt",
    "NonceNeeded",
    "Receipt",
    "Settings",
    "SlowTruth",
    "UnreadableFile",
    "read_predictions",
    "read_truth",
    "verify",
]
