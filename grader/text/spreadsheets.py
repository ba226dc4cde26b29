"""Write CSV that spreadsheets open (RFC 4180): an apostrophe keeps text from becoming a formula."""

import csv
import io
import re
from collections.abc import Iterable

# What spreadsheets take for the start of a formula, in both widths, and what they skip before one.
FORMULA_STARTS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
SIGNED_NUMBER = re.compile(r"[+-][0-9]+(\.[0-9]+)?", re.ASCII)


def safe(text: str) -> str:
    """Return a text that no spreadsheet computes: prefix an apostrophe to anything like a formula.

    A number with its sign begins like one and is none: it stays a number for whoever reads the file.
    """
    if SIGNED_NUMBER.fullmatch(text):
        return text
    return f"'{text}" if text.lstrip(" ").startswith(FORMULA_STARTS) else text


def csv_lines(rows: Iterable[Iterable[object]], *, line_end: str = "\r\n") -> str:
    """Return rows as CSV; every text in them is made safe."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=line_end)
    writer.writerows([safe(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return text.getvalue()
