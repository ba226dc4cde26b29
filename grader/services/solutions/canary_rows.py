"""Canary rows of solutions from earlier versions: parsing, and preservation in corrections.

Canary rows have the Usage `Ignored` and random labels (coins). The list is plain text with one line per row.
Each line ends in random digits, and the SHA-256 of the list is the nonce of the solution's commitment. The
commitment is public from the opening, so corrections must keep the rows and publication includes the list.
"""

import csv
import hashlib
import io
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from grader.files import RowIds
from grader.files.solution.canonical_form import USAGE_NAMES, csv_line
from grader.services.solutions.truth import IGNORED, Truth

COLUMNS = ("id", "coin", "label_in_solution", "true_label", "usage_before", "random")
SALT_BYTES = 16


@dataclass(frozen=True, slots=True)
class Canary:
    """A canary row: its coin, its stored label, and its original label and Usage."""

    row_id: str
    coin: bool
    label: float
    true_label: float
    usage: int


Canaries = tuple[Canary, ...]


def kept(row_ids: RowIds, truth: Truth, canaries: Canaries) -> tuple[Truth, list[str]]:
    """Apply the labels and Usage of canary rows to a solution; return it and the ids that changed."""
    if not canaries:
        return truth, []
    places = _places_of(row_ids, canaries)
    wanted = np.array([each.label for each in canaries])
    differs = (truth.usage[places] != IGNORED) | (truth.labels[places] != wanted)
    labels, usage = truth.labels.copy(), truth.usage.copy()
    labels[places], usage[places] = wanted, IGNORED
    changed = [each.row_id for each, other in zip(canaries, differs.tolist(), strict=True) if other]
    return replace(truth, labels=labels, usage=usage), changed


def restored(row_ids: RowIds, truth: Truth, canaries: Canaries) -> Truth:
    """Return a solution with the original labels and Usage of the canary rows."""
    if not canaries:
        return truth
    places = _places_of(row_ids, canaries)
    labels, usage = truth.labels.copy(), truth.usage.copy()
    labels[places] = [each.true_label for each in canaries]
    usage[places] = [each.usage for each in canaries]
    return replace(truth, labels=labels, usage=usage)


def as_text(canaries: Canaries) -> str | None:
    """Return the list of canary rows with new random digits, or None if there are none."""
    if not canaries:
        return None
    lines = [COLUMNS, *(_fields(each) for each in canaries)]
    return b"".join(csv_line(line) for line in lines).decode()


def nonce(text: str) -> bytes:
    """Return the nonce of a solution with this list: its SHA-256, as `sha256sum` prints it."""
    return hashlib.sha256(text.encode()).digest()


def read(text: str | None) -> Canaries:
    """Parse the output of `as_text`."""
    if text is None:
        return ()
    return tuple(
        Canary(row_id, coin == "1", float(label), float(true_label), USAGE_NAMES.index(usage))
        for row_id, coin, label, true_label, usage, _ in list(csv.reader(io.StringIO(text, newline="")))[1:]
    )


def _fields(canary: Canary) -> Sequence[str]:
    return (
        canary.row_id,
        str(int(canary.coin)),
        repr(canary.label),
        repr(canary.true_label),
        USAGE_NAMES[canary.usage],
        secrets.token_hex(SALT_BYTES),
    )


def _places_of(row_ids: RowIds, canaries: Canaries) -> NDArray[np.intp]:
    """Return the positions of the canary rows in a file."""
    index = row_ids.index()
    return np.array([index[each.row_id.encode()] for each in canaries], np.intp)
