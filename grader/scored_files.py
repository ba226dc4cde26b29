"""Scoring of files with any built-in metric: targets, groups, predictions, and values by split."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from fairboard.built_in import values_of
from fairboard.groups import LEAST_ROWS, OTHER, Group, GroupedMetric, GroupRules, PreparedGroups
from fairboard.interface import (
    ColumnKind,
    ColumnSpec,
    Description,
    Metric,
    MetricResult,
    Options,
    UnsuitablePredictions,
    UnsuitableTruth,
)
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


@dataclass(frozen=True, eq=False)
class MetricSolution:
    """A solution prepared for a metric, with the columns that a submission must have.

    The options have the classes of the solution, unless they were specified. `splits` are the number of rows
    and the prepared targets of public, private and all, unless they are empty.
    """

    metric: Metric
    description: Description
    options: Options
    solution: Solution
    columns: SubmissionColumns
    splits: Mapping[str, tuple[int, Any]]

    @property
    def notes(self) -> list[Note]:
        """Remarks on groups in which the metric is undefined."""
        return [
            Note.of("group_skipped", split=split, column=column, value=value, reasons=" ".join(reasons))
            for split, (_, either) in self.splits.items()
            if isinstance(prepared := either[0] if isinstance(either, tuple) else either, PreparedGroups)
            for (column, value), reasons in prepared.skipped.items()
        ]

    def results(self, submission: SubmissionFile) -> dict[str, MetricResult]:
        """Return the values on each split; raise FileRejected if they are undefined."""
        encoded = encode(self.metric, submission, self.solution.row_ids)
        return {split: self.metric.score(prepared, encoded) for split, (_, prepared) in self.splits.items()}


@reading("solution")
def read_for_metric(
    source: Path | bytes | BinaryIO,
    name: str,
    options: Options,
    *,
    target: str | None = None,
    groups: Sequence[str] = (),
    weight: float = 1.0,
    reported: Sequence[str] = (),
    row_id: str | None = None,
) -> MetricSolution:
    """Read a solution for a built-in metric, which is also computed in each group of the columns `groups`.

    Options without classes get those that occur in the target: in the order of numbers if all are numbers, or
    else in the order of texts. By default, the target is the only column called target, label or toxicity; a
    metric of several columns uses those in `options`. The scores of the `reported` metrics become terms. With
    a `weight` below 1, all groups with the minimum size in each split are in the score.

    Raises
    ------
    FileRejected
        The file cannot be read, or the metric is undefined for the targets; with all problems.
    WrongColumns
        A column does not exist.
    ValueError
        The metric does not exist or needs other options.
    """
    known = read_truth(source, name, options, target=target, groups=groups, row_id=row_id)
    are_known, options = bool(options.classes), with_classes(options, known)
    try:
        metric = metric_of(name, options)
    except ValueError as error:
        if are_known or not options.classes:
            raise
        raise FileRejected(_unsuitable("the solution", str(error))) from error
    scored = reporting(_grouped(metric, groups, weight, known), reported, options)
    description = scored.describe()
    names = known.roles.id or ID, PREDICTION
    columns = predicted_columns(description, options, names, aliases=known.names)
    prepared = _prepared(scored, known)
    return MetricSolution(scored, description, options, known, columns, prepared)


def _grouped(metric: Metric, groups: Sequence[str], weight: float, known: Solution) -> Metric:
    rules = GroupRules(tuple(groups), least=LEAST_ROWS)
    if weight < 1:
        splits = [set(split.groups) for _, split in _prepared(GroupedMetric(metric, rules), known).values()]
        large = sorted(each for each in set[Group]().union(*splits) if each[1] != OTHER)
        in_score = tuple(each for each in large if all(each in split for split in splits))
        rules = replace(rules, weight=weight, in_score=in_score)
    return GroupedMetric(metric, rules) if groups else metric


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
    """Read the targets and groups of a solution; the parameters and errors are those of `read_for_metric`.

    `usage` and `row_id` are those of `read_targets`.
    """
    about = metric_of(name, with_some_classes(options)).describe()
    expected = about.truth
    is_over_columns = tuple(column.name for column in expected) == options.columns
    if options.columns and not is_over_columns:
        raise ValueError(f"{name} has one column, so it needs no names of several columns.")
    renamed = expected
    if not is_over_columns:
        renamed = tuple(_named(column, target or _label_of(source)) for column in expected)
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
    remarks = (Note.of("metric_remark", remark=each) for each in metric.remarks(file.columns))
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


def _named(column: ColumnSpec, name: str) -> ColumnSpec:
    return ColumnSpec(name, column.kind, column.lowest, column.highest)


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
    assert table.row_ids is not None  # noqa: S101 (an id column was read)
    faults = [
        [] if allowed.codes_in(text.encode()) is not None else [allowed.culprit(text.encode())]
        for text in categories.values
    ]
    unknown = sorted({each.decode() for names in faults for each in names})
    rows = np.flatnonzero(np.array([bool(names) for names in faults])[categories.codes]).tolist()
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


def _unsuitable(where: str, reason: str) -> FileProblem:
    return FileProblem.of("unsuitable_target", split=where, reason=reason.removesuffix("."))


def _prepared(metric: Metric, solution: Solution) -> dict[str, tuple[int, Any]]:
    """Prepare each split; raise FileRejected with the problems of all splits."""
    usage, truth = solution.usage, solution.columns
    if usage is None:
        splits = {"all": np.arange(len(solution.row_ids))}
    else:
        splits = {name: np.flatnonzero(np.isin(usage, codes)) for name, codes in SPLITS.items()}
    prepared, problems = dict[str, tuple[int, Any]](), list[FileProblem]()
    for split, rows in splits.items():
        if rows.size:
            try:
                prepared[split] = rows.size, metric.prepare(truth, rows)
            except UnsuitableTruth as error:
                problems += [_unsuitable(split, each) for each in error.problems]
    if problems:
        raise FileRejected(*problems)
    return prepared


def encode(metric: Metric, submission: SubmissionFile, row_ids: RowIds) -> Any:
    """Return the predictions as the metric needs them; raise FileRejected if it is undefined for them."""
    try:
        return metric.encode(submission.columns)
    except UnsuitablePredictions as error:
        count = len(error.rows)
        ids = listed([named(each) for each in row_ids.smallest(error.rows, 5)], total=count)
        problem = FileProblem.of("unsuitable_prediction", count=count, reason=error.reason, ids=ids)
        raise FileRejected(problem) from error
