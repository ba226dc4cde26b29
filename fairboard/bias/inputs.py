"""Adapter from the data structures of other libraries to arrays: the input of all high-level functions."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairboard.bias.metric_settings import MetricSettings
from fairboard.bias.prepared import (
    BoolArray,
    FloatArray,
    PreparedSplit,
    Problems,
    as_array,
    as_column,
    as_vector,
    is_missing,
    prepare_as,
    refuse_where,
)
from grader.text import folded, listed


@dataclass(frozen=True, eq=False)
class Inputs:
    """The arguments of a high-level function as arrays, created by `Inputs.of`."""

    split: PreparedSplit
    y_score: FloatArray
    settings: MetricSettings

    @classmethod
    def of(
        cls,
        y_true: ArrayLike | str,
        y_score: ArrayLike | str,
        subgroups: Any,
        data: Any = None,
        positive: object = None,
        settings: MetricSettings | None = None,
        in_score: Collection[str] | None = None,
    ) -> "Inputs":
        """Read the arguments, which are documented in `bias_report` and have these names in error messages.

        One TypeError or ValueError contains all problems, one per line.
        """
        frame = None if data is None else columns_of("data", data)
        settings, problems = MetricSettings() if settings is None else settings, Problems()
        identities: dict[str, Any] | None = None
        labels: FloatArray | BoolArray | None = None
        split: Any = None
        scores: Any = None
        with problems.collect():
            labels = _labels(_column("y_true", y_true, frame), positive, settings)
        rows = None if labels is None else labels.size
        with problems.collect():
            identities = identities_of(subgroups, frame, rows)
        if labels is not None:
            with problems.collect():
                known, named = (None, {}) if identities is None else (in_score, identities)
                split = prepare_as("y_true", labels, "subgroups", named, settings=settings, in_score=known)
        with problems.collect():
            scores = as_vector("y_score", _column("y_score", y_score, frame), rows=rows, finite=True)
        problems.raise_all()
        return cls(split, scores, settings)


def is_table(values: Any) -> bool:
    """Return whether values are a mapping or a data frame of any library."""
    return _is_mapping(values) or any(hasattr(type(values), name) for name in ("columns", "column_names"))


def columns_of(argument: str, frame: Any) -> Mapping[Any, Any]:
    """Return the columns of a mapping or pandas data frame by name."""
    if _is_mapping(frame):
        return frame  # type: ignore[no-any-return]
    kind = f"{type(frame).__module__.partition('.')[0]}.{type(frame).__name__}"
    raise TypeError(f"`{argument}` must be a pandas data frame or map names to arrays, not a {kind}.")


def _is_mapping(frame: Any) -> bool:
    # A pandas Series has keys too: those of its index.
    return hasattr(frame, "keys") and hasattr(frame, "__getitem__") and not hasattr(frame, "dtype")


def _column(argument: str, values: Any, frame: Mapping[Any, Any] | None) -> Any:
    """Return the column of the frame that a text names, and all other values unchanged."""
    if not isinstance(values, str):
        return values
    if frame is None:
        raise TypeError(f"`{argument}` is the name of a column, which requires `data`.")
    _require(argument, [values], frame)
    return frame[values]


def _require(argument: str, names: Sequence[Any], frame: Mapping[Any, Any]) -> None:
    known = list(frame.keys())
    unknown = dict.fromkeys(name for name in names if name not in known)
    if unknown:
        texts = [repr(name.item() if isinstance(name, np.generic) else name) for name in unknown]
        raise ValueError(f"`data` has no column {listed(texts, conjunction='or')} (in `{argument}`).")


def _labels(values: Any, positive: object, settings: Any) -> FloatArray | BoolArray:
    """Return labels as numbers, or whether each is the positive label."""
    array = as_array("y_true", values)
    is_text = array.dtype.kind in "UST" or (
        array.dtype.kind == "O" and any(isinstance(value, (str, bytes)) for value in array.flat)
    )
    if positive is None and not is_text:
        numbers = as_vector("y_true", array)
        threshold, codes = getattr(settings, "label_threshold", 0), np.unique(numbers)
        is_other = not ((codes >= 0) & (codes <= 1)).all() and np.isfinite(codes).all()
        # Fractions may all be on one side of the threshold, but codes such as 1 and 2 mean two classes.
        if 0 < threshold <= 1 < codes.size and is_other and len(set(codes >= threshold)) == 1:
            side = "at or above" if codes[0] >= threshold else "below"
            reason = f"because all labels are {side} the label threshold {threshold:g}"
            raise ValueError(f"`positive` is required {reason}; {_known(array.tolist())}.")
        return numbers
    labels = complete_column("y_true", array, None).tolist()
    is_positive: BoolArray = np.array([label == positive for label in labels], np.bool_)
    if positive is None or (len(set(labels)) > 1 and not is_positive.any()):
        wrong = "is required" if positive is None else f"is {positive!r}, which is not a label"
        raise ValueError(f"`positive` {wrong}; {_known(labels)}.")
    return is_positive


def _known(labels: Sequence[object]) -> str:
    return f"`y_true` contains the labels {listed(sorted(map(repr, set(labels))))}"


def identities_of(subgroups: Any, frame: Mapping[Any, Any] | None, rows: int | None) -> dict[str, Any]:
    """Return the column of each identity."""
    if isinstance(subgroups, str):
        return _categories(_column("subgroups", subgroups, frame), rows)
    if is_table(subgroups):
        table = columns_of("subgroups", subgroups)
        pairs = [(name, table[name]) for name in list(table.keys())]
        if frame is not None:
            _require("subgroups", [column for _, column in pairs if isinstance(column, str)], frame)
        pairs = [(name, _column("subgroups", column, frame)) for name, column in pairs]
    elif (array := as_array("subgroups", subgroups)).ndim == 2:
        names = list(map(str, range(array.shape[1])))
        if array.shape != (expected := (len(array) if rows is None else rows, len(names))):
            raise ValueError(f"`subgroups` must have shape {expected}, not {array.shape}.")
        pairs = list(zip(names, array.T, strict=True))
    elif frame is None or subgroups is None:
        return _categories(array, rows)
    else:
        _require("subgroups", chosen := list(subgroups), frame)
        pairs = [(name, frame[name]) for name in chosen]
    by_name = {str(name): values for name, values in pairs}
    if len(by_name) < len(pairs):
        repeated = [name for name, count in Counter(str(name) for name, _ in pairs).items() if count > 1]
        raise ValueError(f"`subgroups` contains identities more than once: {', '.join(repeated)}.")
    return by_name


def _categories(values: Any, rows: int | None) -> dict[str, Any]:
    """Return a mask for each category of one column, in alphabetical order."""
    array = as_column("subgroups", values, rows=rows)
    categories = array[~is_missing(array)]
    if not all(isinstance(category, str) for category in categories.tolist()):
        raise TypeError(
            "`subgroups` must be a list of names (even of one), map names to arrays, or be a table with a "
            "column for each identity or a column of texts. Convert numbers to text if they are categories."
        )
    return {str(name): array == name for name in sorted(set(categories.tolist()))}


def complete_column(argument: str, values: Any, rows: int | None) -> NDArray[Any]:
    """Convert a column of numbers or texts to an array, and raise ValueError if values are missing."""
    array = as_column(argument, values, rows=rows)
    refuse_where(is_missing(array), argument, "without missing values")
    return array


def identities_from_text(
    texts: Any, terms: Mapping[str, Collection[str]] | Collection[str]
) -> dict[str, BoolArray]:
    """Return which texts mention each identity, as the `subgroups` of `bias_report`.

    Parameters
    ----------
    texts : array_like of str, shape (n,)
        Texts in a language that separates words. A missing text mentions no identity.
    terms : mapping of str to collection of str, or collection of str
        The terms of each identity; without a mapping, each term is an identity. A term matches whole words in
        upper or lower case. A space matches any white space or a hyphen. Inflected forms, such as plurals, do
        not match; list them as further terms.

    Returns
    -------
    dict of str to ndarray of bool, each of shape (n,)

    Raises
    ------
    ValueError
        If `texts` contains other values than texts, or an identity has no terms or an empty one.

    Examples
    --------
    >>> terms = {"gay": ["gay", "gays"], "male": ["men", "man"]}
    >>> identities_from_text(["Gay men", "a gaycation", "MEN"], terms)
    {'gay': array([ True, False, False]), 'male': array([ True, False,  True])}
    """
    terms = [terms] if isinstance(terms, str) else terms
    named = terms if isinstance(terms, Mapping) else {term: [term] for term in terms}
    array, problems, identities = as_column("texts", texts), Problems(), {}
    is_text = np.array([isinstance(text, str) for text in array.tolist()], np.bool_)
    with problems.collect():
        refuse_where(~(is_text | is_missing(array)), "texts", "texts")
    lines = [folded(text) if isinstance(text, str) else "" for text in array.tolist()]
    for name, words in named.items():
        words = [words] if isinstance(words, str) else words
        alternatives = [folded(word).split() if isinstance(word, str) else [] for word in words]
        with problems.collect():
            if not alternatives or not all(alternatives):
                raise ValueError(f"`terms[{name!r}]` must contain at least one term and no empty terms.")
        any_of = "|".join(r"[\s-]+".join(map(re.escape, parts)) for parts in alternatives)
        pattern = re.compile(rf"(?<!\w)(?:{any_of})(?!\w)")
        identities[str(name)] = np.array([pattern.search(line) is not None for line in lines], np.bool_)
    problems.raise_all()
    return identities
