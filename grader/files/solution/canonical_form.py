"""Canonical CSV of a solution, and its digest and commitment, for any uploaded format.

The canonical form is itself a solution file, in UTF-8 with LF line endings and the header
``id,label,<identities>,Usage``. The `sha256sum` of a published solution is therefore its digest. A commitment
is the hash of a secret nonce and the digest, so it identifies a hidden solution without allowing anyone to
test guesses of the labels.
"""

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

USAGE_NAMES = ("Ignored", "Public", "Private")
_LINES_AT_ONCE = 10_000


def digest_of(pieces: Iterable[bytes]) -> str:
    """Return the SHA-256 of a canonical form in hexadecimal."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def commitment_to(digest: str, nonce: str) -> str:
    """Return the SHA-256 of the bytes of a nonce and a digest; all are in hexadecimal."""
    return hashlib.sha256(bytes.fromhex(nonce + digest)).hexdigest()


def canonical_table(
    row_ids: Iterable[str],
    columns: Mapping[str, NDArray[np.float64] | Sequence[str]],
    usage: NDArray[np.int8],
) -> Iterator[bytes]:
    """Yield a solution's canonical form in pieces of whole lines.

    Parameters
    ----------
    row_ids : iterable of str
        The n distinct ids.
    columns : mapping of str to array of float64, shape (n,), or n texts
        The columns of the metric, which keep their order. NaN and empty texts stand for blanks.
    usage : array of int8, shape (n,)
        0 Ignored, 1 Public, 2 Private.

    Yields
    ------
    bytes
        CSV with the header ``id,<columns>,Usage`` and rows sorted by id by code point. Numbers are the
        shortest decimals that round-trip as float64 (Python's ``repr``), and blanks are empty fields. A text
        is quoted if it contains a comma, quote or line break.
    """
    ids = list(row_ids)
    yield csv_line(["id", *columns, "Usage"])
    order = sorted(range(len(ids)), key=ids.__getitem__)
    for begin in range(0, len(order), _LINES_AT_ONCE):
        rows = np.array(order[begin : begin + _LINES_AT_ONCE], np.intp)
        texts = [
            _texts(values[rows]) if isinstance(values, np.ndarray) else [values[row] for row in rows]
            for values in columns.values()
        ]
        named = [USAGE_NAMES[code] for code in usage[rows]]
        yield b"".join(map(csv_line, zip([ids[row] for row in rows], *texts, named, strict=True)))


def csv_line(fields: Sequence[str]) -> bytes:
    """Return a CSV line in canonical form, with quotes only around texts that need them."""
    # The module `csv` is not used, because its quoting has changed between Python versions.
    return (",".join(map(_quoted, fields)) + "\n").encode()


def _texts(values: NDArray[np.float64]) -> list[str]:
    distinct, places = np.unique(values, return_inverse=True)
    # Adding 0.0 turns negative zero into zero.
    texts = ["" if math.isnan(value) else repr(value + 0.0) for value in distinct.tolist()]
    return [texts[place] for place in places]


def _quoted(text: str) -> str:
    if any(char in text for char in ',"\n\r'):
        return '"' + text.replace('"', '""') + '"'
    return text
