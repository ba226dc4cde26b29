"""Scoring of files with any built-in metric: targets, groups, predictions, and values by split."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from fairboard.groups import OTHER, Group
from fairboard.interface import (
    ColumnKind,
    ColumnSpec,
    Description,
    Metric,
    Options,
    UnsuitablePredictions,
    UnsuitableTruth,
    remarks_on,
)
from fairboard.metric_bases import values_of
from fairboard.metrics import classes_of
from grader.files import (
    FileProblem,
    FileRejected,
    Note,
    RowIds,
    Solution,
    SubmissionFile,
    guess_columns,
    read_submission,
)
from grader.files.reading.problems import reading
from grader.files.solution.columns import SPLITS, Columns
from grader.files.solution.solution import read_targets
from grader.files.submission.columns import ID, PREDICTION, PredictedColumn, SubmissionColumns
from grader.metrics.registry import REPORTED, names_of, of_settings, options_of
from grader.metrics.registry import metric as metric_of
from grader.text import is_storable, listed, named, quoted

MOST_GROUPS = 1000
MOST_CLASSES = 10_000
LONGEST_NAME = 255


@reading("solution")
def scored_groups(settings: Mapping[str, Any], truth: Solution) -> list[Group]:
    """Return all groups with the minimum size in each split, or none if the weight of the overall value is 1.

    Raises ValueError if there are no columns of groups.
    """
    if settings["weight"] == 1:
        return []
    if not settings["groups"]:
        raise ValueError("A weight other than 1 needs columns of groups.")
    metric = of_settings({**settings, "weight": 1.0, "scored_groups": (), REPORTED: ()})
    splits = [set(each.groups) for each in prepared(metric, truth).values()]
    return sorted(each for each in set.intersection(*splits) if each[1] != OTHER)


@reading("solution")
def read_truth(
    source: Path | bytes | BinaryIO,
    name: str,
    options: Options,
    *,
    target: str | None = None,
    groups: Sequence[str] = (),
    usage: Sequence[str] | None = None,
    row_id: str | None = None,
) -> Solution:
    """Read the targets and groups of a solution for a built-in metric.

    A metric of several columns uses those in `options` instead of a `target`. Options without classes get
    those that occur in the target: in the order of numbers if all are numbers, or else in the order of texts.
    `usage` and `row_id` are those of `read_targets`.

    Raises
    ------
    FileRejected
        The file cannot be read; with all problems.
    WrongColumns
        A column does not exist.
    ValueError
        The metric does not exist or needs other options.
    """
    about = metric_of(name, with_some_classes(options)).describe()
    if options.columns and options.columns != tuple(column.name for column in about.truth):
        raise ValueError(f"{name} has one column, so it needs no names of several columns.")
    names = options.columns or ((target,) if target else ())
    if not names:
        present = listed([named(each.name) for each in guess_columns(source)], most=20)
        raise FileRejected(FileProblem.of("missing_label", lines=[1], names=present))
    columns = dict(zip(names, about.truth, strict=True))
    numbers = {each: (column.lowest, column.highest) for each, column in columns.items()}
    first, kind = names[0], about.truth[0].kind
    has_classes = kind is not ColumnKind.NUMBER  # in the only column
    read = read_targets(
        source,
        numbers={} if has_classes else numbers,
        texts=[first] if has_classes else [],
        groups=groups,
        usage=usage,
        row_id=row_id,
    )
    table, _ = read
    problems = [
        problem
        for each in groups
        for problem in _unusable(f"group of {named(each)}", table.texts[each].values, MOST_GROUPS)
    ]
    classes = options.classes if has_classes else ()
    if has_classes and not classes:
        classes = _classes_in(table.texts[first].values, kind)
        if about.orders_classes and values_of(classes) is None:
            shown = listed([quoted(each) for each in classes], most=20)
            problems.append(FileProblem.of("classes_without_order", names=shown))
    problems += _unusable("class", classes, MOST_CLASSES)
    if problems:
        raise FileRejected(*problems)
    values = {first: _positions(first, table, classes, kind)} if has_classes else table.numbers
    targets = {column.name: values[each] for each, column in columns.items()}
    return Solution.of_targets(read, targets, names=names, classes=classes)


def with_some_classes(options: Options) -> Options:
    """Return options for describing a metric before its classes are known.

    The columns of a metric do not depend on the names of the classes.
    """
    return options if options.classes else replace(options, classes=("0", "1"), positive=None)


def read_encoded(
    source: Path | bytes | BinaryIO,
    row_ids: RowIds,
    metric: Metric,
    wanted: SubmissionColumns,
    *,
    other_labels: Sequence[str] = (),
) -> tuple[SubmissionFile, Any]:
    """Read a submission; return it with the metric's remarks as notes, and its predictions as encoded.

    Raises FileRejected with all problems, or if the metric is undefined for the predictions.
    """
    file = read_submission(source, row_ids, other_labels=other_labels, wanted=wanted)
    try:
        encoded = metric.encode(file.columns)
    except UnsuitablePredictions as error:
        count = len(error.rows)
        ids = listed([named(each) for each in row_ids.smallest(error.rows, 5)], total=count)
        problem = FileProblem.of("unsuitable_prediction", count=count, reason=error.reason, ids=ids)
        raise FileRejected(problem) from error
    remarks = [Note.of("metric_remark", remark=each) for each in remarks_on(metric, file.columns)]
    return replace(file, notes=(*file.notes, *remarks)), encoded


def columns_of(settings: Mapping[str, Any]) -> SubmissionColumns:
    """Return the columns of a submission for the settings of a scoring version."""
    return predicted_columns(of_settings(settings).describe(), options_of(settings), names_of(settings))


def predicted_columns(
    description: Description,
    options: Options,
    names: tuple[str, str] = (ID, PREDICTION),
) -> SubmissionColumns:
    """Return the columns that a submission must have.

    `names` are those of the ids and of a metric's only column of predictions. This column is called
    ``prediction`` in the metric, and may also have this name in a file.
    """
    columns = [_predicted(each, options) for each in description.predictions]
    if [each.name for each in columns] == [PREDICTION]:
        aliases = (PREDICTION,) if names[1] != PREDICTION else ()
        columns = [replace(columns[0], name=names[1], key=PREDICTION, aliases=aliases)]
    return SubmissionColumns(tuple(columns), names[0])


def _predicted(column: ColumnSpec, options: Options) -> PredictedColumn:
    """Return the column of a submission, given its description by the metric."""
    if column.kind is ColumnKind.NUMBER:
        return PredictedColumn(column.name, column.lowest, column.highest)
    if column.kind is ColumnKind.TEXT:
        return PredictedColumn(column.name, is_text=True)
    places = options.cutoff if column.kind is ColumnKind.CLASSES else 0
    return PredictedColumn(column.name, classes=options.classes, places=places)


def _classes_in(texts: Sequence[str], kind: ColumnKind) -> tuple[str, ...]:
    """Return the classes that occur in targets, in the order of numbers if all are numbers."""
    if kind is ColumnKind.CLASSES:
        texts = [name.decode() for text in texts for name in text.encode().split()]
    return tuple(classes_of({normalize("NFC", name) for name in texts}))


def _positions(name: str, table: Columns, classes: tuple[str, ...], kind: ColumnKind) -> NDArray[Any]:
    """Return the positions of the true classes; raise FileRejected for an unknown class."""
    column = table.texts[name]
    places = max(len(text.split()) for text in column.values) if kind is ColumnKind.CLASSES else 0
    allowed = PredictedColumn(name, classes=classes, places=places)
    codes = [allowed.codes_in(text.encode()) for text in column.values]
    unknown = [quoted(text) for text, code in zip(column.values, codes, strict=True) if code is None]
    if unknown:
        rows = np.flatnonzero(np.array([code is None for code in codes])[column.codes]).tolist()
        ids = listed([named(each) for each in table.row_ids.smallest(rows, 5)], total=len(rows))
        raise FileRejected(
            FileProblem.of(
                "unknown_target",
                count=len(unknown),
                expected=allowed.domain,
                column=quoted(name),
                names=listed(unknown),
                ids=ids,
            )
        )
    return np.array(codes, np.int32)[column.codes]


def _unusable(what: str, texts: Sequence[str], most: int) -> Iterator[FileProblem]:
    """Yield the problems of names of classes or groups, which are stored and displayed."""
    odd = [each for each in texts if len(each) > LONGEST_NAME or not is_storable(each)]
    if odd:
        yield FileProblem.of("unusable_name", odd[0], count=len(odd), what=what, most=str(LONGEST_NAME))
    if (count := len(texts)) > most:
        yield FileProblem.of("too_many_values", count=count, what=what, values=f"{count:,}", most=f"{most:,}")


@reading("solution")
def splits_of(solution: Solution) -> dict[str, NDArray[np.intp]]:
    """Return the rows of public, private and all, unless empty; a solution without splits has only all."""
    if solution.usage is None:
        return {"all": np.arange(len(solution.row_ids))}
    splits = {name: np.flatnonzero(np.isin(solution.usage, codes)) for name, codes in SPLITS.items()}
    if not splits["all"].size:
        raise FileRejected(FileProblem.of("no_scored_rows"))
    return {name: rows for name, rows in splits.items() if rows.size}


@reading("solution")
def prepared(metric: Metric, solution: Solution) -> dict[str, Any]:
    """Prepare each split; raise FileRejected with the problems of all splits."""
    columns, problems, data = solution.columns, list[FileProblem](), dict[str, Any]()
    for split, rows in splits_of(solution).items():
        try:
            data[split] = metric.prepare(columns, rows)
        except UnsuitableTruth as error:
            reasons = [each.removesuffix(".") for each in error.problems]
            problems += [FileProblem.of("unsuitable_target", split=split, reason=each) for each in reasons]
    if problems:
        raise FileRejected(*problems)
    return data
