"""Adapter from the data structures of other libraries to arrays: the input of all high-level functions."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grader.metrics.metric_settings import MetricSettings
from grader.metrics.prepared import (
    BoolArray,
    FloatArray,
    PreparedSplit,
    Problems,
    as_array,
    as_vector,
    prepare_as,
    refuse_where,
)
from grader.text import folded, listed, not_installed


@dataclass(frozen=True, eq=False)
class Inputs:
    """The arguments of a high-level function as arrays, created by `Inputs.of`."""

    split: PreparedSplit
    y_score: FloatArray
    settings: MetricSettings
    numbers: dict[str, FloatArray]
    cluster: NDArray[Any] | None

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
        *,
        numbers: Mapping[str, ArrayLike | str | None] | None = None,
        cluster: ArrayLike | str | None = None,
    ) -> "Inputs":
        """Read the arguments, which are documented in `bias_report` and have these names in error messages.

        `numbers` are further columns of finite numbers by argument; None is omitted. `cluster` is a column of
        numbers or texts. One TypeError or ValueError contains all problems, one per line.
        """
        frame = None if data is None else _columns("data", data)
        settings, problems = settings or MetricSettings(), Problems()
        identities: dict[str, Any] | None = None
        labels: FloatArray | BoolArray | None = None
        split: Any = None
        found: dict[str, FloatArray] = {}
        with problems.collect():
            labels = _labels(_column("y_true", y_true, frame), positive)
        rows = None if labels is None else labels.size
        with problems.collect():
            identities = _identities(subgroups, frame, rows)
        if labels is not None:
            with problems.collect():
                known = None if identities is None else [in_score] if isinstance(in_score, str) else in_score
                mentions = identities or {}
                split = prepare_as("y_true", labels, "subgroups", mentions, settings=settings, in_score=known)
        for name, values in {"y_score": y_score, **(numbers or {})}.items():
            if values is not None:
                with problems.collect():
                    found[name] = as_vector(name, _column(name, values, frame), rows=rows)
                    refuse_where(~np.isfinite(found[name]), name, "finite")
                    if name == "sample_weight":
                        refuse_where(found[name] < 0, name, "zero or positive")
        clusters = None
        if cluster is not None:
            with problems.collect():
                clusters = _complete("cluster", as_array(_column("cluster", cluster, frame)), rows)
        problems.raise_all()
        return cls(split, found.pop("y_score"), settings, found, clusters)


def _columns(argument: str, frame: Any) -> Mapping[Any, Any]:
    """Return the columns of a mapping or data frame by name."""
    if _is_mapping(frame):
        return frame  # type: ignore[no-any-return]
    if hasattr(frame, "to_pydict"):  # pyarrow
        return {name: frame[name] for name in frame.column_names}
    if hasattr(frame, "get_columns"):  # polars
        return {column.name: column for column in frame.get_columns()}
    kind = f"{type(frame).__module__.partition('.')[0]}.{type(frame).__name__}"
    try:
        import narwhals
    except ImportError:
        raise ImportError(not_installed("narwhals", f"`{argument}` (a {kind})", "frames")) from None
    try:
        lazy = narwhals.from_native(frame).lazy()
    except TypeError:
        raise TypeError(f"`{argument}` must be a data frame or map names to arrays, not a {kind}.") from None
    return {column.name: column.to_numpy() for column in lazy.collect().iter_columns()}


def _is_mapping(frame: Any) -> bool:
    # A pandas Series has keys too: those of its index.
    return hasattr(frame, "keys") and hasattr(frame, "__getitem__") and not hasattr(frame, "dtype")


def _column(argument: str, values: Any, frame: Mapping[Any, Any] | None) -> Any:
    """Return the column of the frame that a text names, and all other values unchanged."""
    if not isinstance(values, str):
        return values
    if frame is None:
        raise TypeError(f"`{argument}` is the name of a column, which requires `data`.")
    return frame[_known(argument, values, frame)]


def _known(argument: str, name: Any, frame: Mapping[Any, Any]) -> Any:
    if name not in frame.keys():  # noqa: SIM118 (`in` does not always test the names of a frame)
        raise ValueError(f"`{argument}` contains {name!r}, which is not a column of `data`.")
    return name


def _labels(values: Any, positive: object) -> FloatArray | BoolArray:
    """Return labels as numbers, or whether each is the positive label."""
    array = as_array(values)
    is_text = array.dtype.kind in "UST" or (
        array.dtype.kind == "O" and any(isinstance(value, (str, bytes)) for value in array.flat)
    )
    if positive is None and not is_text:
        return as_vector("y_true", values)
    array = _complete("y_true", array, None)
    is_positive: BoolArray = np.asarray(array == positive, np.bool_)
    found = sorted(map(repr, set(array.tolist())))
    if positive is None or (len(found) > 1 and not is_positive.any()):
        wrong = "is required" if positive is None else f"is {positive!r}, which is not a label"
        raise ValueError(f"`positive` {wrong}; `y_true` contains the labels {listed(found)}.")
    return is_positive


def _identities(subgroups: Any, frame: Mapping[Any, Any] | None, rows: int | None) -> dict[str, Any]:
    """Return the column of each identity."""
    if isinstance(subgroups, str):
        return _categories(_column("subgroups", subgroups, frame), rows)
    if _is_mapping(subgroups) or any(hasattr(type(subgroups), name) for name in ("columns", "column_names")):
        named = _columns("subgroups", subgroups)
        pairs = [(name, _column("subgroups", named[name], frame)) for name in named.keys()]  # noqa: SIM118
    elif np.ndim(subgroups) == 2:
        array = as_array(subgroups)
        if rows is not None and len(array) != rows:
            raise ValueError(f"`subgroups` must have {rows} rows, not shape {array.shape}.")
        pairs = [(str(number), column) for number, column in enumerate(array.T)]
    elif frame is None:
        return _categories(subgroups, rows)
    else:
        problems, pairs = Problems(), []
        for name in subgroups:
            with problems.collect():
                pairs.append((name, frame[_known("subgroups", name, frame)]))
        problems.raise_all()
    names = [str(name) for name, _ in pairs]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"`subgroups` contains identities more than once: {', '.join(repeated)}.")
    return dict(zip(names, (values for _, values in pairs), strict=True))


def _categories(values: Any, rows: int | None) -> dict[str, Any]:
    """Return a mask for each category of one column, in alphabetical order."""
    array = _vector("subgroups", as_array(values), rows)
    categories = array[~_is_missing(array)]
    if not all(isinstance(category, str) for category in categories.tolist()):
        raise TypeError(
            "`subgroups` must be a list of names (even of one), map names to arrays, or be a table with a "
            "column for each identity or a column of texts. Convert numbers to text if they are categories."
        )
    return {str(name): array == name for name in sorted(set(categories.tolist()))}


def _vector(argument: str, array: NDArray[Any], rows: int | None) -> NDArray[Any]:
    """Return an array after checking its shape."""
    if array.ndim != 1:
        raise ValueError(f"`{argument}` must be one-dimensional, not of shape {array.shape}.")
    if rows is not None and array.size != rows:
        raise ValueError(f"`{argument}` must have {rows} values, not {array.size}.")
    return array


def _complete(argument: str, array: NDArray[Any], rows: int | None) -> NDArray[Any]:
    refuse_where(_is_missing(_vector(argument, array, rows)), argument, "without missing values")
    return array


def _is_missing(array: NDArray[Any]) -> BoolArray:
    """Return a mask of None, NaN and NaT."""
    if array.dtype.kind == "O":
        return np.array([value is None or value != value for value in array.tolist()], np.bool_)
    return np.asarray(array != array, np.bool_)


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
    named = terms if isinstance(terms, Mapping) else {term: [term] for term in terms}
    array, problems, found = _vector("texts", as_array(texts), None), Problems(), {}
    is_text = np.array([isinstance(text, str) for text in array.tolist()], np.bool_)
    with problems.collect():
        refuse_where(~(is_text | _is_missing(array)), "texts", "texts")
    lines = [folded(text) if isinstance(text, str) else "" for text in array.tolist()]
    for name, words in named.items():
        alternatives = [folded(word).split() for word in ([words] if isinstance(words, str) else words)]
        with problems.collect():
            if not alternatives or not all(alternatives):
                raise ValueError(f"`terms[{name!r}]` must contain at least one term and no empty terms.")
        any_of = "|".join(r"[\s-]+".join(map(re.escape, parts)) for parts in alternatives)
        pattern = re.compile(rf"(?<!\w)(?:{any_of})(?!\w)")
        found[str(name)] = np.array([pattern.search(line) is not None for line in lines], np.bool_)
    problems.raise_all()
    return found
