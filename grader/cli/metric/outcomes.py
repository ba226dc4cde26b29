"""File scores as JSON, tables and text, for all built-in metrics."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np

from fairboard import METRIC_CODE_VERSION, bias_report
from fairboard.bias.subgroups import CELLS
from fairboard.groups import PreparedGroups
from fairboard.interface import Options
from grader.cli.parameters import metric_settings
from grader.files import (
    ColumnRole,
    Note,
    Solution,
    guess_columns,
    read_solution,
    read_submission,
    with_named,
)
from grader.files.submission.columns import ID, ONE_NUMBER, SubmissionColumns
from grader.metrics.registry import REPORTED, TAG, of_settings
from grader.scored_files import (
    columns_of,
    prepared,
    read_encoded,
    read_truth,
    scored_groups,
    splits_of,
)
from grader.text import aligned, csv_lines

_MARKUP = re.compile(r"[\\`*\[\]<|]")
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
    splits = splits_of(read)
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


def _skipped(splits: Mapping[str, Any]) -> Iterator[Note]:
    """Yield a note on each group in which the metric is undefined."""
    for split, either in splits.items():
        grouped = either[0] if isinstance(either, tuple) else either  # with the data of reported metrics
        if isinstance(grouped, PreparedGroups):
            for (column, value), reasons in grouped.skipped.items():
                why = " ".join(reasons)
                yield Note.of("group_skipped", split=split, column=column, value=value, reasons=why)


def _settings_and_truth(chosen: SimpleNamespace, solution: Path) -> tuple[dict[str, Any], Solution]:
    """Read a solution by the roles of its columns; return it with the settings of the metric."""
    options = Options(chosen.columns or (), chosen.classes or (), chosen.positive, chosen.cutoff)
    roles = with_named({each.name: each.role for each in guess_columns(solution) if each.name}, chosen.roles)
    label, row_id, usage = (
        [name for name, role in roles.items() if role is wanted]
        for wanted in (ColumnRole.LABEL, ColumnRole.ID, ColumnRole.USAGE)
    )
    slices = [name for name, role in chosen.roles.items() if role is ColumnRole.SLICE]
    groups = tuple(dict.fromkeys((*(chosen.groups or ()), *slices)))
    truth = read_truth(
        solution,
        chosen.metric,
        options,
        target=chosen.label or next(iter(label), None),
        groups=groups,
        usage=usage,
        row_id=next(iter(row_id), None),
    )
    settings = {TAG: chosen.metric, **asdict(options), "classes": truth.classes, "groups": groups}
    settings |= {"weight": chosen.weight, REPORTED: chosen.reported or ()}
    settings |= {"id": truth.roles.id or ID, "prediction": truth.names[0]}
    return settings | {"scored_groups": scored_groups(settings, truth)}, truth


def metric_outcome(chosen: SimpleNamespace, solution: Path, submission: Path) -> Outcome:
    """Score a submission with a metric other than the bias metric; raise UsageError."""
    try:
        settings, truth = _settings_and_truth(chosen, solution)
        metric, wanted = of_settings(settings), columns_of(settings)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    about = metric.describe()
    splits, data = splits_of(truth), prepared(metric, truth)
    file, encoded = read_encoded(submission, truth.row_ids, metric, wanted)
    notes = [*_skipped(data), *file.notes]
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


def _markdown_table(lines: Sequence[Sequence[str]]) -> str:
    heading, *body = ([_MARKUP.sub(r"\\\g<0>", " ".join(cell.split())) for cell in line] for line in lines)
    return "".join(f"| {' | '.join(row)} |\n" for row in (heading, ["---"] * len(heading), *body))


FORMATS: Mapping[str, Callable[[Outcome], str]] = {
    "table": lambda outcome: outcome.text,
    "csv": lambda outcome: csv_lines(outcome.table, line_end="\n"),
    "markdown": lambda outcome: _markdown_table([[*map(_rounded, line)] for line in outcome.table]),
}
