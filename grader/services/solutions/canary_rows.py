"""Canary rows of a solution: sampling, storage, and preservation in corrections.

The list is plain text with one line per row. The list is stored in the database and the solution in the blob
storage, so a leaked solution does not reveal the rows. Each line ends in random digits, and the SHA-256 of
the list is the nonce of the solution's commitment. The commitment is public from the opening, so the list
cannot be changed after submissions have arrived.
"""

import csv
import hashlib
import io
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random, SystemRandom
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from grader.canaries import LEAST, MOST, CannotDraw, draw
from grader.errors import OrganizerError
from grader.files import RowIds
from grader.files.solution.canonical_form import USAGE_NAMES, csv_line
from grader.services.solutions.truth import IGNORED, Truth
from grader.services.stored_json import StoredJson

COLUMNS = ("id", "coin", "label_in_solution", "true_label", "usage_before", "random")
SALT_BYTES = 16
COUNTS = f"The number of canary rows is invalid. Enter an even number from {LEAST} to {MOST}."


class CanaryRequest(StoredJson):
    """A request for canary rows; `from_scored` allows scored rows to be used if too few are Ignored."""

    count: Annotated[int, Field(ge=LEAST, le=MOST, multiple_of=2)]
    from_scored: bool = False

    @classmethod
    def of(cls, count: str | int, *, from_scored: bool) -> "CanaryRequest":
        """Return a request; raise CanariesRefused if the count is not allowed."""
        try:
            return cls(count=int(count), from_scored=from_scored)
        except ValueError as error:
            raise CanariesRefused(COUNTS) from error


class CanariesRefused(OrganizerError):
    """The requested canary rows cannot be created."""

    public_name = "canaries_refused"


@dataclass(frozen=True, slots=True)
class Canary:
    """A canary row: its coin, its stored label, and its original label and Usage."""

    row_id: str
    coin: bool
    label: float
    true_label: float
    usage: int


Canaries = tuple[Canary, ...]


def drawn(
    row_ids: RowIds, truth: Truth, request: CanaryRequest, *, threshold: float, random: Random | None = None
) -> tuple[Truth, Canaries]:
    """Draw canary rows and return the changed solution with them; raise CanariesRefused."""
    try:
        found = draw(
            truth.labels,
            truth.usage,
            count=request.count,
            threshold=threshold,
            from_scored=request.from_scored,
            random=random or SystemRandom(),
        )
    except CannotDraw as error:
        raise CanariesRefused(str(error)) from error
    canaries = tuple(
        Canary(row_id, coin, label, true_label, usage)
        for row_id, coin, label, true_label, usage in zip(
            row_ids.at(found.places.tolist()),
            found.coins.tolist(),
            found.labels.tolist(),
            truth.labels[found.places].tolist(),
            truth.usage[found.places].tolist(),
            strict=True,
        )
    )
    return kept(row_ids, truth, canaries)[0], canaries


def kept(row_ids: RowIds, truth: Truth, canaries: Canaries) -> tuple[Truth, list[str]]:
    """Apply the labels and Usage of canary rows to a solution; return it and the ids that changed."""
    if not canaries:
        return truth, []
    places = places_of(row_ids, canaries)
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
    places = places_of(row_ids, canaries)
    labels, usage = truth.labels.copy(), truth.usage.copy()
    labels[places] = [each.true_label for each in canaries]
    usage[places] = [each.usage for each in canaries]
    return replace(truth, labels=labels, usage=usage)


def places_of(row_ids: RowIds, canaries: Canaries) -> NDArray[np.intp]:
    """Return the positions of the canary rows in a file."""
    index = row_ids.index()
    return np.array([index[each.row_id.encode()] for each in canaries], np.intp)


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
