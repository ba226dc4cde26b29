"""Split a solution at random into a public and a private half (50/50) when it has no Usage column."""

import hashlib
import hmac
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from grader.services.solutions.truth import PRIVATE, PUBLIC


def key_of(secret: str, slug: str) -> bytes:
    """Return a key of a competition's own, so that what one split gives away says nothing of another."""
    return hmac.digest(secret.encode(), f"split of {slug}".encode(), hashlib.sha256)


def split_in_half(
    row_ids: Iterable[str],
    positive: NDArray[np.bool_],
    members: Mapping[str, NDArray[np.bool_]],
    *,
    key: bytes,
) -> NDArray[np.int8]:
    """Divide rows between the splits by a keyed hash of their id, stratified by label and identities.

    Rows are sorted by label, by the identities they mention (the rarest counts first, so that it is divided
    most evenly) and by the hash, and dealt alternately: every stratum is halved to within one row, and
    without the key neither ids nor order tell a row's split.
    """
    digests = [hashlib.blake2b(text.encode(), digest_size=9, key=key).digest() for text in row_ids]
    hashes = np.frombuffer(b"".join(digest[:8] for digest in digests), dtype=">u8")
    rarest_first = sorted(members.values(), key=np.count_nonzero)
    # lexsort sorts by its last key first.
    order = np.lexsort([hashes, *reversed(rarest_first), positive])
    first = digests[order[0]][8] & 1 if digests else 0
    usage = np.empty(len(digests), dtype=np.int8)
    usage[order[first::2]] = PUBLIC
    usage[order[1 - first :: 2]] = PRIVATE
    return usage
