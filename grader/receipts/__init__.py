"""Score receipts, and their verification by a second implementation in pure Python.

This is the second implementation of the score: slow, and written without a line of `grader.metrics` and
`grader.files`, so that an error in either shows. It needs neither NumPy nor a server.
"""

from grader.receipts.reading import UnreadableFile
from grader.receipts.receipt import InvalidReceipt, Receipt
from grader.receipts.recount import Settings
from grader.receipts.submissions import read_predictions
from grader.receipts.truth import SlowTruth, read_truth
from grader.receipts.verification import Check, NonceNeeded, verify

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
