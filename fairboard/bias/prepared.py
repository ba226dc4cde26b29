"""Prepared splits for scoring many submissions, and identities from texts."""

import re
import sys
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairboard.bias.metric_settings import MetricSettings

MAX_ROWS = 2**30
BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int64]
KeyArray = NDArray[np.unsignedinteger[Any]]
Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, eq=False)
class PreparedSplit:
    """The positive rows and the rows that mention each identity, for one split.

    Instances are created by `prepare`. They are immutable.

    Attributes
    ----------
    labels : ndarray of bool, shape (rows,)
        True for positive rows.
    names : tuple of str
        The identities, in the order of the report.
    in_score : tuple of bool
        For each identity, whether it enters the power means.
    members : tuple of ndarray of int64
        For each identity, the numbers of the rows that mention it, ascending.

    Examples
    --------
    >>> from fairboard import prepare
    >>> split = prepare([1, 0, 1], {"cat": [0, 1, 1]})
    >>> split.rows, split.positives, split.members[0].tolist()
    (3, 2, [1, 2])
    """

    labels: BoolArray
    names: tuple[str, ...]
    in_score: tuple[bool, ...]
    members: tuple[IndexArray, ...]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.labels.size

    @cached_property
    def positives(self) -> int:
        """Number of positive rows."""
        return int(np.count_nonzero(self.labels))

    @property
    def negatives(self) -> int:
        """Number of negative rows."""
        return self.rows - self.positives

    @cached_property
    def layout(self) -> "MentionLayout":
        """The mentions in the layout used for counting, computed once."""
        return MentionLayout.of(self)


@dataclass(frozen=True, eq=False)
class MentionLayout:
    """All (identity, row) mentions in one array, grouped by identity.

    Attributes
    ----------
    rows : ndarray of int64, shape (mentions,)
        Row number of each mention.
    positive_mentions : ndarray of int64
        Indices of the mentions in positive rows.
    sizes, positives : ndarray of int64, shape (identities,)
        Number of mentions of each identity, and number of those in positive rows.
    keys : ndarray of uint32 or uint64, shape (mentions,)
        The identity in the high bits and the label in the lowest bit. The bits in between are
        reserved for the doubled midrank of the row.
    identity_shift : int
        Position of the lowest bit of the identity in a key.
    segments : tuple of slice
        The slice that contains the mentions of each identity.
    positive_rows : ndarray of int64
        Row numbers of the positive rows of the split.
    """

    rows: IndexArray
    positive_mentions: IndexArray
    sizes: IndexArray
    positives: IndexArray
    keys: KeyArray
    identity_shift: int
    segments: tuple[slice, ...]
    positive_rows: IndexArray

    @classmethod
    def of(cls, split: PreparedSplit) -> "MentionLayout":
        """Build the layout of the mentions of a split."""
        rows = np.concatenate([np.empty(0, np.int64), *split.members])
        sizes = np.array([members.size for members in split.members], dtype=np.int64)
        positives = [np.count_nonzero(split.labels[members]) for members in split.members]
        identity_shift = split.rows.bit_length() + 2
        key_bits = identity_shift + sizes.size.bit_length()
        key_type = np.dtype(np.uint32) if key_bits <= 32 else np.dtype(np.uint64)
        identity_of = np.repeat(np.arange(sizes.size), sizes)
        keys = (identity_of << identity_shift | split.labels[rows]).astype(key_type)
        return cls(
            rows=_frozen(rows),
            positive_mentions=_frozen(np.flatnonzero(split.labels[rows])),
            sizes=_frozen(sizes),
            positives=_frozen(np.array(positives, dtype=np.int64)),
            keys=_frozen(keys),
            identity_shift=identity_shift,
            segments=tuple(slice(*ends) for ends in pairwise([0, *np.cumsum(sizes).tolist()])),
            positive_rows=_frozen(np.flatnonzero(split.labels)),
        )


def prepare(
    y_true: ArrayLike,
    subgroups: Mapping[str, ArrayLike],
    *,
    settings: MetricSettings | None = None,
    in_score: Collection[str] | None = None,
) -> PreparedSplit:
    """Determine which rows are positive and which rows mention each identity.

    Parameters
    ----------
    y_true : array_like, shape (n,)
        Booleans or finite numbers; a row is positive if ``label >= settings.label_threshold``.
    subgroups : mapping of str to array_like, each of shape (n,), or data frame
        For each identity, in the order of the report, an array of booleans or numbers. A row mentions the
        identity if ``value >= settings.identity_threshold``. NaN is a blank: the row does not mention the
        identity and belongs to its background.
    settings : MetricSettings, optional
        The metric settings that contain the two thresholds.
    in_score : collection of str, optional
        The identities, or the name of one, that enter the power means; all others are only reported. By
        default, all identities enter.

    Returns
    -------
    PreparedSplit
        A split that `count_pairs` accepts with any number of predictions.

    Raises
    ------
    ValueError
        If an array has the wrong shape, length or content, or `in_score` contains an unknown identity.
    TypeError
        If `subgroups` does not map names to arrays, or `settings` are no `MetricSettings`.

    Examples
    --------
    >>> import numpy as np
    >>> prepare([0.6, 0.2, 0.5], {"cat": [0.8, np.nan, 0.4]}).labels.tolist()
    [True, False, True]
    """
    settings = MetricSettings() if settings is None else settings
    if not isinstance(settings, MetricSettings):
        raise TypeError(f"`settings` must be MetricSettings(...), not {settings!r}.")
    if not is_table(subgroups):
        raise TypeError("`subgroups` must map names to arrays or be a data frame.")
    truth = as_vector("y_true", y_true, finite=True)
    if truth.size > MAX_ROWS:
        raise ValueError(f"`y_true` has {truth.size} rows; at most {MAX_ROWS} can be counted.")
    members = {}
    for name in subgroups:
        argument = f"subgroups[{name!r}]"
        mentions = as_vector(argument, subgroups[name], rows=truth.size)
        refuse_where(np.isinf(mentions), argument, "finite or blank")
        if str(name) in members:
            raise ValueError(f"`subgroups` contains the identity {str(name)!r} more than once.")
        members[str(name)] = _frozen(np.flatnonzero(mentions >= settings.identity_threshold))
    scored = [in_score] if isinstance(in_score, str) else in_score
    if unknown := sorted(map(str, set(scored or ()) - set(members))):
        raise ValueError(f"`in_score` contains unknown identities: {', '.join(unknown)}.")
    return PreparedSplit(
        labels=_frozen(truth >= settings.label_threshold),
        names=tuple(members),
        in_score=tuple(scored is None or name in scored for name in members),
        members=tuple(members.values()),
    )


def is_table(values: object) -> bool:
    """Return whether values are a mapping or a data frame; the keys of a Series are its index."""
    return hasattr(values, "keys") and not hasattr(values, "dtype")


def as_vector(
    argument: str, values: ArrayLike, *, rows: int | None = None, finite: bool = False
) -> FloatArray:
    """Convert values to a one-dimensional float64 array, in which missing values are NaN.

    Raises
    ------
    ValueError
        If the values are not numbers or booleans (with `finite`, finite ones), the array is not
        one-dimensional, or its length is not `rows`. The message contains the argument's name.
    """
    try:
        # A nullable column of pandas would become an array of objects.
        array = (
            values.to_numpy(np.float64, na_value=np.nan)
            if hasattr(values, "to_numpy")
            else np.asarray(values)
        )
        if array.dtype.kind == "O" and not any(isinstance(each, str | bytes) for each in array.flat):
            array = array.astype(np.float64)
    except (OverflowError, TypeError, ValueError):
        raise ValueError(
            f"`{argument}` must contain only numbers or booleans, in rows of equal length."
        ) from None
    if array.dtype.kind not in "biuf":
        raise ValueError(f"`{argument}` must contain numbers or booleans, not {array.dtype}.")
    if array.ndim != 1:
        raise ValueError(f"`{argument}` must be one-dimensional, not of shape {array.shape}.")
    if rows is not None and array.size != rows:
        raise ValueError(f"`{argument}` must have {rows} values, not {array.size}.")
    vector = np.ascontiguousarray(array, dtype=np.float64)
    if finite:
        refuse_where(~np.isfinite(vector), argument, "finite")
    return vector


def as_objects(values: Any) -> list[Any]:
    """Return values as a list, in which missing values are None."""
    if hasattr(values, "to_numpy"):
        values = values.to_numpy(object, na_value=None)
    # The missing value of pandas has no truth value.
    missing = getattr(sys.modules.get("pandas"), "NA", None)
    return [None if each is missing or each != each else each for each in values]


def refuse_where(wrong: BoolArray, argument: str, expected: str) -> None:
    """Raise ValueError if any value is wrong, stating the number of errors and the first position."""
    count = int(np.count_nonzero(wrong))
    if count:
        first = int(np.argmax(wrong))
        raise ValueError(
            f"`{argument}` must be {expected}, but {count} of {wrong.size} values "
            f"are not; the first is at position {first}."
        )


def _frozen(array: NDArray[Scalar]) -> NDArray[Scalar]:
    array.flags.writeable = False
    return array


def identities_from_text(
    texts: Iterable[str | None], terms: Mapping[str, Collection[str]] | Collection[str]
) -> dict[str, BoolArray]:
    """Return which texts mention each identity, as the `subgroups` of `bias_report`.

    Parameters
    ----------
    texts : iterable of str
        Texts in a language that separates words. A value that is no text, such as NaN, mentions no identity.
    terms : mapping of str to collection of str, or collection of str
        The terms of each identity, or its only term; without a mapping, each term is an identity. A term
        matches whole words in upper or lower case. A space matches any white space or a hyphen. Inflected
        forms, such as plurals, do not match; list them as further terms.

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
    named = terms if isinstance(terms, Mapping) else {term: term for term in terms}
    identities = {}
    for name, words in named.items():
        parts = [_folded(word).split() for word in ([words] if isinstance(words, str) else words)]
        if not parts or not all(parts):
            raise ValueError(f"`terms[{name!r}]` must contain at least one term and no empty terms.")
        any_of = "|".join(r"[\s-]+".join(map(re.escape, each)) for each in parts)
        pattern = re.compile(rf"(?<!\w)(?:{any_of})(?!\w)")
        identities[name] = np.array([pattern.search(line) is not None for line in lines], np.bool_)
    return identities


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text.casefold())
