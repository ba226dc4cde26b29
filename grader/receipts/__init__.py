"""Score receipts, and their verification with the original files.

`recount` is a second implementation of the score of the bias metric. It shares no code with `fairboard`
and `grader.files`, so a difference reveals an error in one of the implementations.
"""

from grader.receipts.receipt import InvalidReceipt, Receipt

__all__ = ["InvalidReceipt", "Receipt"]
