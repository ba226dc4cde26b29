"""Identity detection in texts with term lists."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping

import numpy as np

from fairboard.bias.prepared import BoolArray


def identities_from_text(
    texts: Iterable[str | None], terms: Mapping[str, Collection[str]] | Collection[str]
) -> dict[str, BoolArray]:
    """Return which texts mention each identity, as the `subgroups` of `bias_report`.

    Parameters
    ----------
    texts : iterable of str
        Texts in a language that separates words. A value that is no text, such as NaN, mentions no identity.
    terms : mapping of str to collection of str, or collection of str
        The terms of each identity; without a mapping, each term is an identity. A term matches whole words in
        upper or lower case. A space matches any white space or a hyphen. Inflected forms, such as plurals, do
        not match; list them as further terms.

    Returns
    -------
    dict of str to ndarray of bool
        One value for each text.

    Raises
    ------
    ValueError
        If an identity has no terms or an empty one.

    Examples
    --------
    >>> terms = {"gay": ["gay", "gays"], "male": ["men", "man"]}
    >>> identities_from_text(["Gay men", "a gaycation", "MEN"], terms)
    {'gay': array([ True, False, False]), 'male': array([ True, False,  True])}
    """
    lines = [_folded(text) if isinstance(text, str) else "" for text in texts]
    named = terms if isinstance(terms, Mapping) else {term: [term] for term in terms}
    identities = {}
    for name, words in named.items():
        parts = [_folded(word).split() for word in words]
        if not parts or not all(parts):
            raise ValueError(f"`terms[{name!r}]` must contain at least one term and no empty terms.")
        any_of = "|".join(r"[\s-]+".join(map(re.escape, each)) for each in parts)
        pattern = re.compile(rf"(?<!\w)(?:{any_of})(?!\w)")
        identities[name] = np.array([pattern.search(line) is not None for line in lines], np.bool_)
    return identities


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text.casefold())
