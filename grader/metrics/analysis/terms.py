"""Identities from the texts of comments, by lists of terms."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from grader.metrics.prepared import BoolArray


def identities_from_text(texts: Sequence[str], terms: Mapping[str, Sequence[str]]) -> dict[str, BoolArray]:
    """Return a mask for each identity."""
    found = {}
    for name, words in terms.items():
        pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)", re.IGNORECASE)
        found[name] = np.array([pattern.search(text) is not None for text in texts], np.bool_)
    return found
