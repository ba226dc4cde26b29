"""Scoring of files with any built-in metric: targets, groups, predictions, and values by split."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from fairboard.groups import LEAST_ROWS, OTHER, Group, GroupedMetric, GroupRules
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
    ColumnRole,
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
from grader.files.solution.columns import SPLITS, Categories, Columns
from grader.files.solution.solution import read_targets
from grader.files.submission.columns import ID, PREDICTION, PredictedColumn, SubmissionColumns, codes_of
from grader.metrics.registry import is_python, names_of, of_settings, options_of, reporting
from grader.metrics.registry import metric as metric_of
from grader.text import is_storable, listed, named, quoted

MOST_GROUPS = 1000
MOST_CLASSES = 10_000
LONGEST_NAME = 255


@reading("solution")
def metric_for(
    name: str,
    options: Options,
    truth: Solution,
    *,
    groups: Sequence[str] = (),
    weight: float = 1.0,
    reported: Sequence[str] = (),
) -> Metric:
    """Return a built-in metric with the classes of a solution, also computed in each group of the columns.

    The scores of the `reported` metrics become terms. With a `weight` below 1, all groups with the minimum
    size in each split are in the score. Raises ValueError if the options do not fit the metric or solution,
    and FileRejected if the classes of the solution do not.
    """
    are_known, options = bool(options.classes), with_classes(options, truth)
    try:
        metric = metric_of(name, options)
    except ValueError as error:
        if are_known or not options.classes:
            raise
        raise FileRejected(_unsuitable("the solution", str(error))) from error
    if groups or weight != 1:
        rules = GroupRules(tuple(groups), least=LEAST_ROWS)
        if weight != 1:
            splits = [set(each.groups) for each in prepared(GroupedMetric(metric, rules), truth).values()]
            shared = set[Group].intersection(*splits) if splits else set[Group]()
            in_score = tuple(sorted(each for each in shared if each[1] != OTHER))
            rules = replace(rules, weight=weight, in_score=in_score)
        metric = GroupedMetric(metric, rules)
    return reporting(metric, reported, options)


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

    By default, the target is the only column called target, label or toxicity; a metric of several columns
    uses those in `options`. Options without classes get those that occur in the target: in the order of
    numbers if all are numbers, or else in the order of texts. `usage` and `row_id` are those of
    `read_targets`.

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
    expected = about.truth
    is_over_columns = tuple(column.name for column in expected) == options.columns
    if options.columns and not is_over_columns:
        raise ValueError(f"{name} has one column, so it needs no names of several columns.")
    renamed = expected
    if not is_over_columns:
        renamed = tuple(replace(column, name=target or _label_of(source)) for column in expected)
    read = read_targets(
        source,
        numbers={
            each.name: (each.lowest, each.highest) for each in renamed if each.kind is ColumnKind.NUMBER
        },
        texts=[each.name for each in renamed if each.kind is not ColumnKind.NUMBER],
        groups=groups,
        usage=usage,
        row_id=row_id,
    )
    table, _ = read
    if large := [each for each in groups if len(table.texts[each].values) > MOST_GROUPS]:
        raise FileRejected(*(_too_many_groups(each, table.texts[each]) for each in large))
    has_classes = renamed[0].kind is not ColumnKind.NUMBER
    if has_classes and not options.classes:
        is_list = renamed[0].kind is ColumnKind.CLASSES
        values = table.texts[renamed[0].name].values
        options = replace(options, classes=classes_in(values, is_list=is_list))
        if about.orders_classes and values_of(options.classes) is None:
            shown = listed([quoted(each) for each in options.classes], most=20)
            raise FileRejected(FileProblem.of("classes_without_order", names=shown))
    texts = {"class": options.classes if has_classes else ()}
    texts["group"] = tuple(value for each in groups for value in table.texts[each].values)
    if problems := [problem for what, each in texts.items() for problem in _unusable(what, each)]:
        raise FileRejected(*problems)
    targets = {
        column.name: _values(each, table, options) for column, each in zip(expected, renamed, strict=True)
    }
    names = [each.name for each in renamed]
    return Solution.of_targets(read, targets, names=names, classes=texts["class"])


def with_classes(options: Options, solution: Solution) -> Options:
    """Return options with the classes of a solution, if it has any."""
    return replace(options, classes=solution.classes) if solution.classes else options


def with_some_classes(options: Options) -> Options:
    """Return options for describing a metric before its classes are known.

    The columns of a metric do not depend on the names of the classes.
    """
    return options if options.classes else replace(options, classes=("0", "1"), positive=None)


def read_for_settings(
    source: Path | bytes | BinaryIO,
    row_ids: RowIds,
    settings: Mapping[str, Any],
    other_labels: Sequence[str] = (),
) -> SubmissionFile:
    """Read a submission for the metric of a scoring version; raise FileRejected with all problems."""
    metric = of_settings(settings)
    file = read_submission(source, row_ids, other_labels=other_labels, wanted=columns_of(settings))
    if not is_python(settings):  # its predictions are checked in the sandbox
        encode(metric, file, row_ids)
    return with_remarks(file, metric)


def with_remarks(file: SubmissionFile, metric: Metric) -> SubmissionFile:
    """Return a file with the metric's remarks as notes."""
    remarks = (Note.of("metric_remark", remark=each) for each in remarks_on(metric, file.columns))
    return replace(file, notes=(*file.notes, *remarks))


def columns_of(settings: Mapping[str, Any]) -> SubmissionColumns:
    """Return the columns of a submission for the settings of a scoring version."""
    return predicted_columns(of_settings(settings).describe(), options_of(settings), names_of(settings))


def predicted_columns(
    description: Description,
    options: Options,
    names: tuple[str, str] = (ID, PREDICTION),
    aliases: Sequence[str] = (),
) -> SubmissionColumns:
    """Return the columns that a submission must have.

    Parameters
    ----------
    names : (str, str)
        The names of the ids and of a metric's only column of predictions, which is called ``prediction`` in
        the metric.
    aliases : sequence of str
        Other accepted names of this column, besides ``prediction``.
    """
    columns = [predicted(each, options) for each in description.predictions]
    if [each.name for each in columns] == [PREDICTION]:
        others = tuple(each for each in (PREDICTION, *aliases) if each != names[1])
        columns = [replace(columns[0], name=names[1], key=PREDICTION, aliases=others)]
    return SubmissionColumns(tuple(columns), names[0])


def classes_in(texts: Sequence[str], *, is_list: bool) -> tuple[str, ...]:
    """Return the classes that occur in targets, in the order of numbers if all are numbers."""
    names = {name.decode() for text in texts for name in text.encode().split()} if is_list else set(texts)
    return tuple(classes_of({normalize("NFC", name) for name in names}))


def predicted(column: ColumnSpec, options: Options) -> PredictedColumn:
    """Return the column of a submission, given its description by the metric."""
    if column.kind is ColumnKind.NUMBER:
        return PredictedColumn(column.name, column.lowest, column.highest)
    if column.kind is ColumnKind.TEXT:
        return PredictedColumn(column.name, is_text=True)
    places = options.cutoff if column.kind is ColumnKind.CLASSES else 0
    return PredictedColumn(column.name, classes=options.classes, places=places)


def _label_of(source: Path | bytes | BinaryIO) -> str:
    """Return the column that is the label by its name; raise FileRejected if there is none."""
    guesses = guess_columns(source)
    labels = [each.name for each in guesses if each.role is ColumnRole.LABEL]
    if not labels:
        shown = listed([named(each.name) for each in guesses], most=20)
        raise FileRejected(FileProblem.of("missing_label", lines=[1], names=shown))
    return labels[0]


def _values(column: ColumnSpec, table: Columns, options: Options) -> NDArray[Any]:
    """Return the true values: numbers, or the positions of classes."""
    if column.kind is ColumnKind.NUMBER:
        return table.numbers[column.name]
    categories = table.texts[column.name]
    places = 0
    if column.kind is ColumnKind.CLASSES:
        places = max(len(text.split()) for text in categories.values)
    allowed = PredictedColumn(column.name, classes=options.classes, places=places)
    codes = codes_of([text.encode() for text in categories.values], allowed)
    if codes is None:
        raise FileRejected(_unknown_classes(column.name, categories, allowed, table))
    return codes[categories.codes]


def _unusable(what: str, texts: Sequence[str]) -> Iterator[FileProblem]:
    """Yield the problems of names of classes or groups, which are stored and displayed."""
    odd = [each for each in texts if len(each) > LONGEST_NAME or not is_storable(each)]
    if odd:
        yield FileProblem.of("unusable_name", odd[0], count=len(odd), what=what, most=str(LONGEST_NAME))
    if len(texts) > MOST_CLASSES:
        count, most = len(texts), f"{MOST_CLASSES:,}"
        yield FileProblem.of("too_many_classes", count=count, what=what, values=f"{count:,}", most=most)


def _too_many_groups(name: str, column: Categories) -> FileProblem:
    count = len(column.values)
    most = f"{MOST_GROUPS:,}"
    return FileProblem.of("too_many_groups", count=count, name=named(name), values=f"{count:,}", most=most)


def _unknown_classes(
    name: str, categories: Categories, allowed: PredictedColumn, table: Columns
) -> FileProblem:
    is_unknown = [allowed.codes_in(text.encode()) is None for text in categories.values]
    unknown = [text for text, is_so in zip(categories.values, is_unknown, strict=True) if is_so]
    rows = np.flatnonzero(np.array(is_unknown)[categories.codes]).tolist()
    ids = listed([named(each) for each in table.row_ids.smallest(rows, 5)], total=len(rows))
    return FileProblem.of(
        "unknown_class",
        like="unknown_target",
        count=len(unknown),
        expected=allowed.domain,
        column=quoted(name),
        names=listed([quoted(each) for each in unknown]),
        ids=ids,
    )


def splits_of(solution: Solution) -> dict[str, NDArray[np.intp]]:
    """Return the rows of public, private and all, unless empty; a solution without splits has only all."""
    if solution.usage is None:
        return {"all": np.arange(len(solution.row_ids))}
    splits = {name: np.flatnonzero(np.isin(solution.usage, codes)) for name, codes in SPLITS.items()}
    return {name: rows for name, rows in splits.items() if rows.size}


@reading("solution")
def prepared(metric: Metric, solution: Solution) -> dict[str, Any]:
    """Prepare each split; raise FileRejected with the problems of all splits."""
    columns, problems, data = solution.columns, list[FileProblem](), dict[str, Any]()
    for split, rows in splits_of(solution).items():
        try:
            data[split] = metric.prepare(columns, rows)
        except UnsuitableTruth as error:
            problems += [_unsuitable(split, each) for each in error.problems]
    if problems:
        raise FileRejected(*problems)
    return data


def _unsuitable(split: str, reason: str) -> FileProblem:
    return FileProblem.of("unsuitable_target", split=split, reason=reason.removesuffix("."))


def encode(metric: Metric, submission: SubmissionFile, row_ids: RowIds) -> Any:
    """Return the predictions as the metric needs them; raise FileRejected if it is undefined for them."""
    try:
        return metric.encode(submission.columns)
    except UnsuitablePredictions as error:
        count = len(error.rows)
        ids = listed([named(each) for each in row_ids.smallest(error.rows, 5)], total=count)
        problem = FileProblem.of("unsuitable_prediction", count=count, reason=error.reason, ids=ids)
        raise FileRejected(problem) from error
