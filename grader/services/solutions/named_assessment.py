"""Assessment of solutions for any metric except that of bias: groups in the score, problems, report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from fairboard.groups import GroupedMetric, GroupRules
from fairboard.interface import ColumnKind, Direction, Metric, UnsuitableTruth
from grader.files import ColumnRole, PublicTable, RowIds, submission_upload_cap
from grader.files.solution.canonical_form import USAGE_NAMES
from grader.files.solution.column_roles import ID_COLUMN
from grader.metrics.python_metric import PythonMetric, PythonSettings
from grader.metrics.registry import metric as metric_of
from grader.metrics.registry import reporting
from grader.models import Split
from grader.ranking.order import LARGEST_UNITS, Scale
from grader.scored_files import MetricTruth, predicted_columns, read_truth
from grader.services.competitions.metric import MIN_CLASS_ROWS, NamedMetric, Rules
from grader.services.solutions import python_solution, report_warnings
from grader.services.solutions import report as solution_report
from grader.services.solutions.acceptance import Assessed, LiveSolution, UnusableSolution, positions_in
from grader.services.solutions.python_solution import PythonTable
from grader.services.solutions.report import ColumnChange, Told
from grader.services.solutions.truth import IGNORED, Truth, split_in_half

MOST_STRATA = 16
MOST_CLASSES = 50
FEW_UNITS = 1000
_ROLES = frozenset({ColumnRole.ID, ColumnRole.LABEL, ColumnRole.USAGE, ColumnRole.SLICE})
InScore = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class NamedSolution:
    """A solution that was read for a metric, with the role of each column."""

    metric: NamedMetric
    read: MetricTruth
    roles: Mapping[str, ColumnRole]

    @property
    def row_ids(self) -> RowIds:
        """The ids in the order of the file."""
        return self.read.table.row_ids

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of the targets, if they have any."""
        return self.read.options.classes if self.read.table.texts else ()

    def truth(self, usage: NDArray[np.int8]) -> Truth:
        """Return the hidden values with the split of each row."""
        return Truth.of_targets(self.read.targets, self.classes, self.read.table.groups, usage)


def roles_for(
    metric: NamedMetric,
    guessed: Mapping[str, ColumnRole],
    chosen: Mapping[str, ColumnRole] | None,
    *,
    is_new: bool = True,
) -> dict[str, ColumnRole]:
    """Return the role of each column: chosen by an organizer, set in the metric, or guessed.

    The solution of a metric written in Python consists of true values, except the columns of its groups. A
    corrected solution has the roles of the live one, which `guessed` contains.
    """
    roles = {
        name: role if role in _ROLES else ColumnRole.UNUSED for name, role in (chosen or guessed).items()
    }
    targets = metric.columns or ((metric.target,) if metric.target and chosen is None else ())
    if metric.is_python and chosen is None and is_new:
        roles |= dict.fromkeys([name for name in metric.groups if name in guessed], ColumnRole.SLICE)
        apart = (ColumnRole.ID, ColumnRole.USAGE)
        targets = tuple(
            name for name, role in guessed.items() if role not in apart and name not in metric.groups
        )
    if targets:
        roles = {
            name: ColumnRole.UNUSED if role is ColumnRole.LABEL else role for name, role in roles.items()
        }
    return roles | dict.fromkeys([name for name in targets if name in guessed], ColumnRole.LABEL)


def read(
    source: BinaryIO,
    metric: NamedMetric,
    roles: Mapping[str, ColumnRole],
    *,
    sample: PythonTable | None = None,
) -> NamedSolution:
    """Read a solution whose columns have these roles; raise FileRejected or WrongColumns.

    A metric written in Python has the columns of the `sample` submission.
    """
    columns: dict[ColumnRole, list[str]] = {role: [] for role in ColumnRole}
    for name, role in roles.items():
        columns[role].append(name)
    if metric.is_python:
        return _read_for_python(source, metric, roles, columns, sample)
    truth = read_truth(
        source,
        metric.name,
        metric.blank_options,
        target=None if metric.columns else next(iter(columns[ColumnRole.LABEL]), metric.target),
        groups=columns[ColumnRole.SLICE],
        usage=columns[ColumnRole.USAGE],
    )
    if clash := truth.targets.keys() & truth.table.groups.keys():
        names = ", ".join(sorted(clash))
        raise UnusableSolution(
            [f"Rename the group column {names}: the metric uses this name for its target."]
        )
    return NamedSolution(metric, truth, roles)


def _read_for_python(
    source: BinaryIO,
    metric: NamedMetric,
    roles: Mapping[str, ColumnRole],
    columns: Mapping[ColumnRole, list[str]],
    sample: PythonTable | None,
) -> NamedSolution:
    targets, groups = columns[ColumnRole.LABEL], columns[ColumnRole.SLICE]
    table = PythonTable.read(source, names=targets, groups=groups, usage=columns[ColumnRole.USAGE])
    if not targets:
        raise UnusableSolution(
            ["A metric written in Python needs a column with true values. Choose its role."]
        )
    settings = python_solution.settings_of(table, sample, PythonSettings.from_dict(metric.python or {}))
    metric = metric.model_copy(update={"python": settings.as_dict()})
    return NamedSolution(metric, table.truth(groups), roles)


def with_python_check(assessed: Assessed, source: bytes, sample: PythonTable | None) -> Assessed:
    """Run the setup check of a metric written in Python, and add its result to the report."""
    metric = assessed.rules.metric
    if assessed.unscorable or not isinstance(metric, NamedMetric):
        return assessed
    metric, check, problems = python_solution.python_checked(
        assessed.row_ids, assessed.truth, sample, source, metric
    )
    findings = [report_warnings.stop("python_metric", each) for each in problems]
    findings += [report_warnings.warning("python_metric", each) for each in check.get("warnings", ())]
    report = assessed.report | {"python": check, "findings": [*findings, *assessed.report["findings"]]}
    return replace(assessed, rules=Rules(metric=metric), report=report, unscorable=tuple(problems))


def assess(
    solution: NamedSolution,
    *,
    split_key: bytes,
    min_class_rows: int = MIN_CLASS_ROWS,
    test: PublicTable | None = None,
    tell: Told = lambda _: None,
) -> Assessed:
    """Assess a new competition's solution; without a Usage column, `split_key` splits the rows in half."""
    usage, split_by = solution.read.table.usage, "usage"
    if usage is None:
        usage, split_by = _split(solution, split_key), "keyed hash"
    metric = solution.metric
    if not metric.is_python:
        metric = metric.model_copy(update={"classes": solution.classes})
    truth = solution.truth(usage)
    lines, problems = _groups(truth, metric, min_class_rows, solution.row_ids)
    fitting = tuple((line["column"], line["value"]) for line in lines if not line["why_not"])
    in_score = fitting if metric.weight < 1 else ()
    described = _describe(solution.row_ids, truth, solution, split_by, test, tell)
    return _assessed(solution.row_ids, truth, metric, in_score, lines, problems, described, is_new=True)


def assess_corrected(
    solution: NamedSolution,
    *,
    live: LiveSolution,
    test: PublicTable | None = None,
    tell: Told = lambda _: None,
) -> Assessed:
    """Assess a corrected solution, with the metric and the groups in the score of the live one."""
    positions = positions_in(live.row_ids, solution.row_ids)
    usage, split_by = solution.read.table.usage, "usage"
    if usage is None:
        usage, split_by = live.truth.usage[positions], "live solution"
    metric, truth = solution.metric, solution.truth(usage)
    lines, problems = _groups(truth, metric, MIN_CLASS_ROWS, solution.row_ids)
    described = _describe(solution.row_ids, truth, solution, split_by, test, tell)
    return _assessed(
        solution.row_ids, truth, metric, metric.scored_groups, lines, problems, described, is_new=False
    )


def assess_settings(
    described: Mapping[str, Any], *, live: LiveSolution, metric: NamedMetric, is_draft: bool
) -> Assessed:
    """Assess the current solution with other options of its metric, of which it has the columns."""
    lines, problems = _groups(live.truth, metric, MIN_CLASS_ROWS, live.row_ids)
    fitting = tuple((line["column"], line["value"]) for line in lines if not line["why_not"])
    in_score = () if metric.weight == 1 else metric.scored_groups or fitting
    kept = {name: each for name, each in described.items() if name not in ("changes", "findings")}
    return _assessed(live.row_ids, live.truth, metric, in_score, lines, problems, kept, is_new=is_draft)


def compare(live: LiveSolution, solution: NamedSolution, truth: Truth) -> tuple[ColumnChange, ...]:
    """Return the changed columns of a corrected solution."""
    positions = positions_in(live.row_ids, solution.row_ids).tolist()
    before, after = (_texts(each, solution) for each in (live.truth, truth))
    return solution_report.compare_texts(
        {name: [texts[place] for place in positions] for name, texts in before.items()}, after
    )


def _texts(truth: Truth, solution: NamedSolution) -> dict[str, list[str]]:
    """Return the targets, the groups and the splits as texts, by the names of the columns."""
    names = dict(zip(solution.read.targets, solution.read.names, strict=True))
    columns = {
        names.get(name, name): each if isinstance(each, list) else solution_report.number_texts(each)
        for name, each in truth.as_written().items()
    }
    usage = solution.read.table.usage_column or "Usage"
    return columns | {usage: [USAGE_NAMES[code] for code in truth.usage.tolist()]}


def _split(solution: NamedSolution, key: bytes) -> NDArray[np.int8]:
    """Split the rows in half, stratified by the targets and the groups."""
    codes = {name: _quarters(values) for name, values in solution.read.targets.items()}
    codes |= {name: each.codes for name, each in solution.read.table.groups.items()}
    strata = {
        f"{name}: {code}": values == code
        for name, values in codes.items()
        for code in np.unique(values)[:MOST_STRATA].tolist()
    }
    return split_in_half(solution.row_ids, np.zeros(len(solution.row_ids), np.bool_), strata, key=key)


def _quarters(values: NDArray[Any]) -> NDArray[Any]:
    """Return the quarter of each number, or the first class of each row."""
    first = values[:, 0] if values.ndim > 1 else values
    if first.dtype.kind != "f":
        return first
    return np.searchsorted(np.quantile(first, (0.25, 0.5, 0.75)), first)


def _groups(
    truth: Truth, metric: NamedMetric, least: int, row_ids: RowIds
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return each group with its rows in each split, and the reasons why the metric is undefined."""
    # The classes of a solution may not suit the metric.
    if problems := metric.problems():
        return [], problems
    inner: Metric
    if metric.is_python:
        python = PythonMetric.of(metric.as_dict())
        inner, columns = python, python_solution.columns_of(truth, row_ids, python.settings)
    else:
        inner, columns = metric_of(metric.name, metric.options), truth.columns
    grouped = GroupedMetric(inner, GroupRules(tuple(truth.slices)))
    scored = reporting(grouped, metric.reported, metric.options)
    sizes, reasons = dict[tuple[str, str], dict[str, int]](), dict[tuple[str, str], str]()
    for split in Split:
        try:
            prepared = scored.prepare(columns, truth.rows(split))
            prepared = prepared[0] if metric.reported else prepared
        except UnsuitableTruth as error:
            problems += [f"In the {split.value} split: {each}" for each in error.problems]
            continue
        for place, (rows, _) in prepared.groups.items():
            sizes.setdefault(place, {})[split.value] = rows.size
        for place, why in prepared.skipped.items():
            column, value = place
            count = np.count_nonzero(columns[column][truth.rows(split)].astype(str) == value)
            sizes.setdefault(place, {})[split.value] = int(count)
            reasons[place] = (
                f"The metric is undefined in the {split.value} rows of this group: {' '.join(why)}"
            )
    if problems:
        return [], problems
    return [_group(*place, rows, reasons.get(place, ""), least) for place, rows in sizes.items()], problems


def _scale_warnings(truth: Truth, metric: NamedMetric) -> list[report_warnings.Finding]:
    """Warn if the unit of the target makes scores so small or large that ranks depend on time only."""
    about, rows = metric.describe(), truth.rows(Split.PUBLIC)
    columns = (*about.truth, *about.predictions)
    is_number = all(each.kind is ColumnKind.NUMBER for each in columns)
    if metric.is_python or about.direction is Direction.HIGHEST or not is_number:
        return []
    scorer, targets = metric_of(metric.name, metric.options), truth.columns
    means = {
        to.name: np.full(truth.usage.size, targets[each.name][rows].mean())
        for each, to in zip(about.truth, about.predictions, strict=True)
    }
    score = scorer.score(scorer.prepare(targets, rows), scorer.encode(means)).score
    scale = Scale(about.decimals, is_lowest_best=True)
    if abs(scale.units(score)) < FEW_UNITS:
        change = f"Scores have {about.decimals} decimals, so few of them would differ. Multiply the target."
    elif abs(scale.units(score * FEW_UNITS)) >= LARGEST_UNITS:
        largest = scale.text(-LARGEST_UNITS)
        change = f"Scores above {largest} all count as {largest}. Divide the target by a constant."
    else:
        return []
    text = f"If all predictions are the mean of the target, the score is {score:.3g}. {change}"
    return [report_warnings.warning("score_scale", text)]


def _group(column: str, value: str, rows: Mapping[str, int], undefined: str, least: int) -> dict[str, Any]:
    why_not = undefined
    if not why_not and len(rows) < len(Split):
        why_not = f"All its rows are {next(iter(rows))}."
    elif not why_not and min(rows.values()) < least:
        why_not = f"A split has only {min(rows.values()):,} of its rows. The minimum is {least}."
    return {
        "column": column,
        "value": value,
        "rows": dict(rows),
        "is_defined": not undefined and len(rows) == len(Split),
        "why_not": why_not,
    }


def _assessed(
    row_ids: RowIds,
    truth: Truth,
    metric: NamedMetric,
    in_score: InScore,
    lines: list[dict[str, Any]],
    problems: Sequence[str],
    described: Mapping[str, Any],
    *,
    is_new: bool,
) -> Assessed:
    known = {(line["column"], line["value"]): line for line in lines}
    unscorable = [*problems]
    for column, value in () if problems else in_score:
        line = known.get((column, value), {"is_defined": False, "why_not": "No row has this value."})
        if column not in truth.slices:
            line = {"is_defined": False, "why_not": f"The column {column} is not a slice."}
        if not line["is_defined"]:
            unscorable.append(f"The group {column} = {value} is in the score. {line['why_not']}")
    if metric.weight < 1 and not in_score and not problems:
        unscorable.append(
            "No group can be in the score. Give a column of the solution the role slice, or set the weight "
            "of the overall value to 1."
        )
    lines = [line | {"in_score": (line["column"], line["value"]) in in_score} for line in lines]
    report = {**described, "groups": lines}
    report["findings"] = [report_warnings.stop("unscorable", each) for each in unscorable]
    if not problems:
        report["findings"] += _scale_warnings(truth, metric)
    report["findings"] += report_warnings.find(report, is_corrected=not is_new)
    resolved = metric.model_copy(update={"groups": tuple(truth.slices), "scored_groups": in_score})
    return Assessed(row_ids, truth, Rules(metric=resolved), report, tuple(unscorable))


def _describe(
    row_ids: RowIds,
    truth: Truth,
    solution: NamedSolution,
    split_by: str,
    test: PublicTable | None,
    tell: Told,
) -> dict[str, Any]:
    """Return the report; what only the bias metric has is empty in it."""
    splits = {split: truth.rows(split) for split in Split}
    table, options = solution.read.table, solution.read.options
    columns = predicted_columns(solution.metric.describe(), options)
    is_high = truth.labels > np.median(truth.labels)
    if not is_high.any():  # more than half of the rows have the largest value
        is_high = truth.labels == truth.labels.max()
    return {
        "id": ID_COLUMN,
        "label": solution.read.names[0],
        "usage": table.usage_column,
        "other_labels": [],
        "pair": None,
        "unused_columns": list(table.unused),
        "undeclared": [],
        "roles": {name: role.value for name, role in solution.roles.items()},
        "split_by": split_by,
        "rows": len(row_ids),
        "submission_bytes": submission_upload_cap(row_ids, wanted=columns),
        "ignored_rows": int(np.count_nonzero(truth.usage == IGNORED)),
        "unannotated_rows": 0,
        "splits": {
            split.value: {
                "rows": int(rows.size),
                "positives": 0,
                "unannotated": 0,
            }
            for split, rows in splits.items()
        },
        "identities": [],
        "near_misses": [],
        "slices": [
            {"name": name, "values": len(each.values), "blank": int(np.count_nonzero(each.codes < 0))}
            for name, each in truth.slices.items()
        ],
        "pairs": None,
        "targets": [
            {"column": name}
            | {split.value: _facts(values[rows], solution.classes) for split, rows in splits.items()}
            for name, values in zip(solution.read.names, truth.targets.values(), strict=True)
        ],
        "alike_ids": solution_report.alike_ids(row_ids),
        "odd_ids": solution_report.odd_ids(row_ids),
        "leaks": list(solution_report.leaks(row_ids, is_high, truth.usage, {}, test, tell)),
        "test": None if test is None else solution_report.test_facts(test),
        "left_out": [],
    }


def _facts(values: NDArray[Any], classes: Sequence[str]) -> dict[str, Any]:
    """Return the range and the mean of numbers, or the number of rows of each class."""
    if values.dtype.kind == "f":
        if not values.size:
            return {}
        return {"lowest": float(values.min()), "mean": float(values.mean()), "highest": float(values.max())}
    codes, counts = np.unique(values[values >= 0], return_counts=True)
    order = np.argsort(-counts, kind="stable")[:MOST_CLASSES]
    return {
        classes[code]: count
        for code, count in zip(codes[order].tolist(), counts[order].tolist(), strict=True)
    }
