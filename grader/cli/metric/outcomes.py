"""File scores as JSON, tables and text, for all built-in metrics."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from fairboard import METRIC_CODE_VERSION, bias_report
from fairboard.bias.subgroups import CELLS
from fairboard.groups import PreparedGroups
from fairboard.interface import Metric, Options
from grader.cli.parameters import metric_settings
from grader.files import (
    ColumnRole,
    ColumnRoles,
    Note,
    Solution,
    guess_columns,
    read_solution,
    read_submission,
    with_named,
)
from grader.files.submission.columns import ID, ONE_NUMBER, PREDICTION, SubmissionColumns
from grader.scored_files import (
    encode,
    metric_for,
    predicted_columns,
    prepared,
    read_truth,
    splits_of,
    with_classes,
    with_remarks,
)
from grader.text import aligned, csv_lines, markdown_table

_COLUMNS = ("split", "identity", "in_score", "rows", "positives", "score", "overall_auc", *CELLS)


@dataclass(frozen=True)
class Outcome:
    """The scores of a file.

    `table` contains the headings, then all values. `values` are those to which requirements refer: the score
    and the terms on all rows, of which None is undefined.
    """

    answer: Mapping[str, Any]
    columns: str
    notes: Sequence[Note]
    table: Sequence[Sequence[object]]
    text: str
    values: Mapping[str, float | None]
    warnings: Sequence[str] = ()


def bias_outcome(chosen: SimpleNamespace, solution: Path, submission: Path | None = None) -> Outcome:
    """Score a submission, or a column of the solution, with the bias metric."""
    settings = metric_settings(vars(chosen))
    columns = {"label": chosen.label, "identities": chosen.identities, "named": chosen.roles}
    notes: Sequence[Note] = ()
    if submission is not None:
        read = read_solution(solution, **columns)
        wanted = SubmissionColumns(ONE_NUMBER.columns, read.roles.id or ID)
        file = read_submission(submission, read.row_ids, wanted=wanted)
        scores, notes = file.predictions, file.notes
    else:
        read = read_solution(solution, predictions=(chosen.prediction,), **columns)
        scores = read.predictions[chosen.prediction]
    splits = _splits(read)
    in_score = [
        name
        for name, values in read.identities.items()
        if np.count_nonzero(values[splits["all"]] >= settings.identity_threshold) >= chosen.min_size
    ]
    answers, values = dict[str, Any](), dict[str, float | None]()
    table: list[list[Any]] = [[*_COLUMNS]]
    texts, warnings = list[str](), list[str]()
    for split, rows in splits.items():
        mentions = {name: each[rows] for name, each in read.identities.items()}
        report = bias_report(read.labels[rows], scores[rows], mentions, settings=settings, in_score=in_score)
        answers[split] = report.as_dict()
        texts.append(report.to_text(split))
        warnings += [f"{split}: {cell}" for cell in report.undefined if cell.affects_score]
        values = {"score": report.score, **report.terms}  # finally those of all rows
        whole = {"rows": report.rows, "positives": report.positives, **values}
        lines = [{**asdict(line), "identity": line.name, "rows": line.size} for line in report.subgroups]
        table += [[{"split": split, **line}.get(name) for name in _COLUMNS] for line in (whole, *lines)]
    return Outcome(
        {
            "splits": answers,
            "metric_code_version": str(METRIC_CODE_VERSION),
            "notes": [note.as_dict() for note in notes],
        },
        _columns_line(read),
        notes,
        table,
        "\n".join(texts),
        values,
        warnings,
    )


def _columns_line(solution: Solution) -> str:
    """Return the roles of the solution's columns."""
    columns = {role: solution.roles.having(role) for role in ColumnRole if role is not ColumnRole.ID}
    return "; ".join(f"{role}: {', '.join(names)}" for role, names in columns.items() if names)


def _splits(solution: Solution) -> dict[str, NDArray[np.intp]]:
    splits = splits_of(solution)
    if not splits:
        raise click.ClickException("The solution has no Public or Private rows.")
    return splits


def _skipped(splits: Mapping[str, Any]) -> Iterator[Note]:
    """Yield a note on each group in which the metric is undefined."""
    for split, either in splits.items():
        grouped = either[0] if isinstance(either, tuple) else either  # with the data of reported metrics
        if isinstance(grouped, PreparedGroups):
            for (column, value), reasons in grouped.skipped.items():
                why = " ".join(reasons)
                yield Note.of("group_skipped", split=split, column=column, value=value, reasons=why)


def _metric_and_truth(chosen: SimpleNamespace, solution: Path, options: Options) -> tuple[Metric, Solution]:
    """Read a solution by the roles of its columns; return it with the chosen metric; raise UsageError."""
    guessed = {each.name: each.role for each in guess_columns(solution) if each.name}
    roles, slices = ColumnRoles(with_named(guessed, chosen.roles)), ColumnRoles(chosen.roles)
    groups = tuple(dict.fromkeys((*(chosen.groups or ()), *slices.having(ColumnRole.SLICE))))
    try:
        truth = read_truth(
            solution,
            chosen.metric,
            options,
            target=chosen.label or roles.label or None,
            groups=groups,
            usage=roles.having(ColumnRole.USAGE),
            row_id=roles.id,
        )
        metric = metric_for(
            chosen.metric,
            options,
            truth,
            groups=groups,
            weight=chosen.weight,
            reported=chosen.reported or (),
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    return metric, truth


def metric_outcome(chosen: SimpleNamespace, solution: Path, submission: Path) -> Outcome:
    """Score a submission with a metric other than the bias metric."""
    options = Options(chosen.columns or (), chosen.classes or (), chosen.positive, chosen.cutoff)
    metric, truth = _metric_and_truth(chosen, solution, options)
    about, names = metric.describe(), (truth.roles.id or ID, PREDICTION)
    wanted = predicted_columns(about, with_classes(options, truth), names, aliases=truth.names)
    splits, data = _splits(truth), prepared(metric, truth)
    file = read_submission(submission, truth.row_ids, wanted=wanted)
    encoded, notes = encode(metric, file, truth.row_ids), [*_skipped(data), *with_remarks(file, metric).notes]
    table: list[list[Any]] = [["split", "column", "group", "value of", "rows", "value"]]
    answer = dict[str, Any]()
    for split, rows in splits.items():
        result = metric.score(data[split], encoded)
        values = {"score": result.score, **result.terms}
        by_group = {column: dict(each) for column, each in result.groups.items()}
        answer[split] = {
            "rows": rows.size,
            "score": result.score,
            "terms": dict(result.terms),
            "groups": by_group,
        }
        table += [[split, "", "", name, rows.size, value] for name, value in values.items()]
        table += [
            [split, column, name or "(other)", "score", row["rows"], row["score"]]
            for column, each in by_group.items()
            for name, row in each.items()
        ]
    return Outcome(
        {
            "metric": metric.name,
            "version": metric.version,
            "direction": about.direction,
            "exactness": about.exactness,
            "splits": answer,
            "notes": [note.as_dict() for note in notes],
        },
        f"{about.title}; best: {about.direction}; {_columns_line(truth)}",
        notes,
        table,
        "\n".join(aligned([[*map(_rounded, line)] for line in table])) + "\n",
        values,
    )


def _rounded(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.5f}" if isinstance(value, float) else str("" if value is None else value)


FORMATS: Mapping[str, Callable[[Outcome], str]] = {
    "table": lambda outcome: outcome.text,
    "csv": lambda outcome: csv_lines(outcome.table, line_end="\n"),
    "markdown": lambda outcome: markdown_table([[*map(_rounded, line)] for line in outcome.table]),
}
