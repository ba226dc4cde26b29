"""File scores as JSON, tables and text, for all built-in metrics."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np

from fairboard import METRIC_CODE_VERSION, BiasReport, bias_report
from fairboard.bias.subgroups import CELLS
from fairboard.groups import OTHER
from fairboard.interface import Direction, Options
from grader.cli.parameters import metric_settings
from grader.files import ColumnRole, Note, Solution, read_scored_table, read_solution, read_submission
from grader.files.solution.columns import SPLITS
from grader.files.submission.columns import ID, ONE_NUMBER, SubmissionColumns
from grader.scored_files import MetricSolution, read_for_metric, with_remarks
from grader.text import aligned, counted, csv_lines, markdown_table

ONE_MODEL = ""
Reports = Mapping[str, Mapping[str, BiasReport]]  # maps models and splits to reports
# Maps the name of each model, which is empty if there is only one, to its values. None is undefined.
Values = Mapping[str, Mapping[str, float | None]]
_COLUMNS = ("split", "identity", "in_score", "rows", "positives", "score", "overall_auc", *CELLS)


@dataclass(frozen=True)
class Outcome:
    """The scores of a file.

    `table` contains the headings, then all values. `values` are those to which requirements refer.
    """

    answer: Mapping[str, Any]
    columns: str
    notes: Sequence[Note]
    table: Sequence[Sequence[object]]
    text: str
    values: Values
    warnings: Sequence[str] = ()


def bias_outcome(solution: Path, submission: Path | None, chosen: SimpleNamespace) -> Outcome:
    """Score a submission, or columns of the solution, with the bias metric."""
    settings = metric_settings(chosen.power, chosen.weights, chosen.threshold, chosen.undefined)
    given = {"label": chosen.label, "identities": chosen.identities, "named": chosen.roles}
    notes: Sequence[Note] = ()
    if submission is not None:
        read = read_solution(solution, **given)
        wanted = SubmissionColumns(ONE_NUMBER.columns, read.roles.id or ID)
        file = read_submission(submission, read.row_ids, wanted=wanted)
        predictions, notes = {ONE_MODEL: file.predictions}, file.notes
    else:
        read = read_scored_table(solution, predictions=chosen.prediction, **given)
        predictions = read.predictions
    splits: dict[str, Any] = {"all": slice(None)}
    if read.usage is not None:
        splits = {name: np.isin(read.usage, codes) for name, codes in SPLITS.items()}
        splits = {name: rows for name, rows in splits.items() if rows.any()}
    scored = splits.get("all", slice(0))
    in_score = [
        name
        for name, values in read.identities.items()
        if np.count_nonzero(values[scored] >= settings.identity_threshold) >= chosen.min_size
    ]
    reports = {
        model: {
            split: bias_report(
                read.labels[rows],
                values[rows],
                {name: each[rows] for name, each in read.identities.items()},
                settings=settings,
                in_score=in_score,
            )
            for split, rows in splits.items()
        }
        for model, values in predictions.items()
    }
    return _of_reports(read, notes, reports)


def _of_reports(solution: Solution, notes: Sequence[Note], reports: Reports) -> Outcome:
    models = {
        model: {"splits": {split: each.as_dict() for split, each in splits.items()}}
        for model, splits in reports.items()
    }
    text, warnings = "", list[str]()
    table: list[list[Any]] = [["model", *_COLUMNS]]
    for model, splits in reports.items():
        for split, each in splits.items():
            place = f"{model}, {split}" if model else split
            text += ("\n" if text else "") + each.to_text(place)
            warnings += [f"{place}: {cell}" for cell in each.undefined if cell.affects_score]
            whole = {"rows": each.rows, "positives": each.positives, "score": each.score, **each.terms}
            lines = [{**asdict(line), "identity": line.name, "rows": line.size} for line in each.subgroups]
            for line in (whole, *lines):
                values = {"split": split, **line}
                table.append([model, *(values.get(name) for name in _COLUMNS)])
    if not any(reports.values()):
        warnings.append("The solution has no Public or Private rows, so there is nothing to score.")
    return Outcome(
        {
            **models.get(ONE_MODEL, {"models": models}),
            "metric_code_version": str(METRIC_CODE_VERSION),
            "notes": [note.as_dict() for note in notes],
        },
        _of_roles(solution),
        notes,
        [line[ONE_MODEL in reports :] for line in table],
        text,
        {model: _limited(splits.get("all")) for model, splits in reports.items()},
        warnings,
    )


def _of_roles(solution: Solution) -> str:
    roles = solution.roles
    return (
        f"label: {roles.label}; {counted(len(roles.identities), 'identity column')}: "
        f"{', '.join(roles.identities) or 'none'}; "
        f"splits: {roles.usage or 'none'}; only for analyses: {', '.join(roles.kept) or 'none'}; "
        f"not used: {', '.join(roles.unused) or 'none'}"
    )


def _limited(report: BiasReport | None) -> Mapping[str, float | None]:
    """Return the score and the terms on all scored rows, which are undefined if there are none."""
    if report is None:
        return dict.fromkeys(("score", "overall_auc", "subgroup_auc", "bpsn_auc", "bnsp_auc"))
    return {"score": report.score, **report.terms}


def metric_outcome(solution: Path, submission: Path | None, chosen: SimpleNamespace) -> Outcome:
    """Score a submission with a metric other than the bias metric."""
    if submission is None:
        raise click.UsageError("Specify a SUBMISSION file.")
    options = Options(chosen.columns or (), chosen.classes or (), chosen.positive, chosen.cutoff)
    others = {
        "groups": chosen.groups or (),
        "weight": chosen.weight,
        "reported": chosen.reported or (),
    }
    row_id = next((name for name, role in chosen.roles.items() if role is ColumnRole.ID), None)
    try:
        prepared = read_for_metric(
            solution, chosen.metric, options, target=chosen.label, row_id=row_id, **others
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    file = read_submission(submission, prepared.solution.row_ids, wanted=prepared.columns)
    results, about = prepared.results(file), prepared.description
    notes = [*prepared.notes, *with_remarks(file, prepared.metric).notes]
    sign = 1 if about.direction is Direction.HIGHEST else -1
    table: list[list[Any]] = [["split", "column", "group", "value of", "rows", "value"]]
    answer, gaps = dict[str, Any](), list[str]()
    for split, result in results.items():
        rows = prepared.splits[split][0]
        groups = {column: dict(each) for column, each in result.groups.items()}
        answer[split] = {"rows": rows, "score": result.score, "terms": dict(result.terms), "groups": groups}
        for name, value in {"score": result.score, **result.terms}.items():
            table.append([split, "", "", name, rows, value])
        for column, each in groups.items():
            ordered = sorted(each.items(), key=lambda item: (item[0] == OTHER, sign * item[1]["score"]))
            table += [
                [split, column, name or "(other)", "score", row["rows"], row["score"]]
                for name, row in ordered
            ]
            if values := [row["score"] for name, row in each.items() if name != OTHER]:
                gaps.append(f"{split}, {column}: gap {max(values) - min(values):.{about.decimals}f}")
    shown = [table[0], *([*map(str, line[:5]), f"{line[5]:.{about.decimals}f}"] for line in table[1:])]
    used = [place for place in range(6) if any(line[place] for line in shown[1:])]
    text = [*aligned([[line[place] for place in used] for line in shown]), *gaps]
    whole = results.get("all")
    return Outcome(
        {
            "metric": prepared.metric.name,
            "version": prepared.metric.version,
            "direction": about.direction,
            "exactness": about.exactness,
            "splits": answer,
            "notes": [note.as_dict() for note in notes],
        },
        _of_metric(prepared),
        notes,
        table,
        "".join(f"{line}\n" for line in text),
        {ONE_MODEL: {"score": whole.score, **whole.terms} if whole else {"score": None}},
    )


def _of_metric(prepared: MetricSolution) -> str:
    about, solution = prepared.description, prepared.solution
    parts = {
        "best": about.direction,
        "target": ", ".join(solution.names),
        "classes": ", ".join(prepared.options.classes),
        "scored": about.sentence.removesuffix("."),
        "splits": "Public and Private" if solution.usage is not None else "",
        "groups": ", ".join(solution.slices),
        "not used": ", ".join(solution.roles.unused),
    }
    return "; ".join([about.title, *(f"{name}: {text or 'none'}" for name, text in parts.items())])


def _as_markdown(outcome: Outcome) -> str:
    return markdown_table([[*map(_rounded, line)] for line in outcome.table])


def _rounded(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.5f}" if isinstance(value, float) else str("" if value is None else value)


FORMATS: Mapping[str, Callable[[Outcome], str]] = {
    "table": lambda outcome: outcome.text,
    "csv": lambda outcome: csv_lines(outcome.table, line_end="\n"),
    "markdown": _as_markdown,
}
