"""Groups in a score (identities or slice values): strata, selection, rows and problems."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairboard import MetricSettings, PairCounts, PreparedSplit, prepare, report
from fairboard.bias.counts import IdentityCounts
from fairboard.bias.influence import paired_standard_error
from fairboard.groups import LEAST_ROWS, Group, GroupedMetric, GroupRules, size_of_group
from fairboard.interface import ColumnKind, Direction, Metric, UnsuitableTruth
from grader.files import RowIds, Solution
from grader.metrics.python_metric import PythonMetric
from grader.metrics.registry import metric as metric_of
from grader.metrics.registry import reporting
from grader.models import Split
from grader.ranking.order import Scale
from grader.services.competitions.metric import MetricChoice, NamedMetric, Rules
from grader.services.solutions import python_solution
from grader.services.solutions.truth import IGNORED, Truth
from grader.text import counted, listed

MOST_STRATA = 16
MOST_CLASSES = 50
FEW_UNITS, MOST_DIGITS = 1000, 7
_NO_WINS = dict.fromkeys([name for name in IdentityCounts._fields if name.endswith("_wins")], 0)


@dataclass(frozen=True, eq=False)
class Grouped:
    """The rules of the score, with the groups in it.

    `facts` are parts of the report. `problems` are reasons why the solution cannot be used for scoring.
    `is_high` and `members` are hidden values, which nothing visible may predict.
    """

    rules: Rules
    facts: dict[str, Any]
    problems: list[str]
    is_high: NDArray[np.bool_]
    members: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    warnings: tuple[tuple[str, str], ...] = ()


def strata(
    solution: Solution, metric: NamedMetric
) -> tuple[NDArray[np.bool_], Mapping[str, NDArray[np.bool_]]]:
    """Return the rows of a class, and the rows of each stratum, by which a split is balanced.

    The strata are the rows that mention each identity, or each quarter or class of the targets and each
    group.
    """
    if metric.takes_identities:
        formula = metric.formula
        mentions = {
            name: values >= formula.identity_threshold for name, values in solution.identities.items()
        }
        return solution.labels >= formula.label_threshold, mentions
    codes = {name: _quarters(values) for name, values in solution.targets.items()}
    codes |= {name: each.codes for name, each in solution.slices.items()}
    members = {
        f"{name}: {code}": values == code
        for name, values in codes.items()
        for code in np.unique(values)[:MOST_STRATA].tolist()
    }
    return np.zeros(len(solution.row_ids), np.bool_), members


def unknown_identities(names: Sequence[str], there: Mapping[str, Any]) -> list[str]:
    """Return a problem for each name that is not an identity column."""
    return [f"The solution has no identity column {name!r}." for name in names if name not in there]


def identities_of(truth: Truth, choice: MetricChoice) -> Grouped:
    """Return the identities in the score with their rows, and the undefined cells of the score.

    If no identities are chosen, the score uses all with enough rows of each class in each split.
    """
    formula, least = choice.metric.formula, choice.min_class_rows
    problems = list[str]()
    splits = {split: _prepared(truth, split, formula) for split in Split}
    lines = _identity_lines(splits, least)
    if choice.identities is None:
        names = tuple(line["name"] for line in lines if _fewest(line) >= least)
        if not names:
            problems.append(
                f"No identity has at least {least} positive and {least} negative rows in each split. Choose "
                "the identities in the score, or upload a larger solution."
            )
    else:
        names = tuple(name for name in choice.identities if name in truth.identities)
        problems += unknown_identities(choice.identities, truth.identities)
        if not choice.identities:
            problems.append("No identity is selected for the score. Choose at least one.")
    rules = Rules(identities=names, metric=choice.metric)
    lines = [{**line, "in_score": line["name"] in names} for line in lines]
    in_score = tuple(line["in_score"] for line in lines)
    splits = {split: replace(prepared, in_score=in_score) for split, prepared in splits.items()}
    blank = np.ones(truth.usage.size, np.bool_)
    for values in truth.identities.values():
        blank &= np.isnan(values)
    facts = {
        "unannotated_rows": int(np.count_nonzero(blank & (truth.usage != IGNORED))),
        "splits": {
            split.value: {
                "rows": prepared.rows,
                "positives": prepared.positives,
                "paired_error": paired_standard_error(prepared, formula),
                "unannotated": int(np.count_nonzero(blank[truth.rows(split)])),
            }
            for split, prepared in splits.items()
        },
        "identities": lines,
        "summary": _summary(lines),
    }
    for split, prepared in splits.items():
        identities = tuple(
            IdentityCounts(line["name"], line["in_score"], **line[split.value], **_NO_WINS) for line in lines
        )
        counts = PairCounts(prepared.rows, prepared.positives, 0, identities)
        problems += [
            f"In the {split.value} split {cell}."
            for cell in report(counts, formula).undefined
            if cell.affects_score and not cell.term.startswith("mean_")
        ]
    members = {name: values >= formula.identity_threshold for name, values in truth.identities.items()}
    small = [line["name"] for line in lines if line["in_score"] and line["is_small"]]
    few = f"fewer than {LEAST_ROWS} rows of a class in a split are in the score"
    warnings = [("small_groups", f"Identities with {few}: {listed(small)}.")] if small else []
    return Grouped(rules, facts, problems, truth.labels >= formula.label_threshold, members, tuple(warnings))


def _prepared(truth: Truth, split: Split, formula: MetricSettings) -> PreparedSplit:
    rows = truth.rows(split)
    identities = {name: values[rows] for name, values in truth.identities.items()}
    return prepare(truth.labels[rows], identities, settings=formula)


def _identity_lines(splits: Mapping[Split, PreparedSplit], least: int) -> list[dict[str, Any]]:
    """Return the rows of each class and split that mention each identity, and why it is not proposed."""
    names = next(iter(splits.values())).names
    lines: list[dict[str, Any]] = [{"name": name, "is_defined": True, "why_not": ""} for name in names]
    for split, prepared in splits.items():
        whole = {"positive": prepared.positives, "negative": prepared.rows - prepared.positives}
        for line, rows in zip(lines, prepared.members, strict=True):
            positives = int(np.count_nonzero(prepared.labels[rows]))
            counts = {"positive": positives, "negative": rows.size - positives}
            line[split.value] = {f"{kind}s": count for kind, count in counts.items()}
            for kind, count in counts.items():
                if count in (0, whole[kind]) and line["is_defined"]:
                    who = f"Every {kind}" if count else f"No {kind}"
                    why_not = (
                        f"{who} row of the {split.value} split mentions it, so an AUC would be undefined."
                    )
                    line |= {"is_defined": False, "why_not": why_not}
    for line in lines:
        line["is_small"] = _fewest(line) < LEAST_ROWS
        if line["is_defined"] and _fewest(line) < least:
            few = counted(_fewest(line), "row")
            line["why_not"] = f"Only {few} of a class in a split. The minimum is {least}."
    return lines


def _fewest(line: Mapping[str, Any]) -> int:
    counts: list[int] = [count for split in Split for count in line[split.value].values()]
    return min(counts)


def _summary(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return sentences about the identities in the score and about the others."""
    names = [line["name"] for line in lines if line["in_score"]]
    others = [line["name"] for line in lines if not line["in_score"]]
    counts = "1 identity is" if len(names) == 1 else f"{len(names)} identities are"
    sentences = [f"{counts} in the score" + (f": {', '.join(names)}." if names else ".")]
    return [*sentences, f"Left out: {', '.join(others)}."] if others else sentences


def values_of(
    truth: Truth,
    choice: MetricChoice,
    row_ids: RowIds,
    names: Sequence[str],
    *,
    keeps_groups: bool,
) -> Grouped:
    """Return the groups with their rows, and the reasons why the metric is undefined.

    Unless the metric `keeps_groups` that it has, all with enough rows in each split are in the score. There
    are none if the weight of the overall value is 1.
    """
    metric = choice.metric
    lines, problems = _groups(truth, metric, choice.min_class_rows, row_ids)
    in_score = metric.scored_groups if keeps_groups else ()
    if metric.weight == 1:
        in_score = ()
    elif not in_score:
        in_score = tuple((line["column"], line["value"]) for line in lines if not line["why_not"])
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
    splits = {split: truth.rows(split) for split in Split}
    facts: dict[str, Any] = {
        "unannotated_rows": 0,
        "splits": {
            split.value: {"rows": int(rows.size), "positives": 0, "unannotated": 0}
            for split, rows in splits.items()
        },
        "identities": [],
        "summary": [],
        "targets": [
            {"column": name}
            | {split.value: _facts(values[rows], truth.classes) for split, rows in splits.items()}
            for name, values in zip(names, truth.targets.values(), strict=True)
        ],
        "groups": [line | {"in_score": (line["column"], line["value"]) in in_score} for line in lines],
    }
    is_high = truth.labels > np.median(truth.labels)
    if not is_high.any():  # more than half of the rows have the largest value
        is_high = truth.labels == truth.labels.max()
    resolved = metric.model_copy(update={"groups": tuple(truth.slices), "scored_groups": in_score})
    warnings = () if problems else (*_size_warnings(facts["groups"]), *_scale_warnings(truth, metric))
    return Grouped(Rules(metric=resolved), facts, unscorable, is_high, warnings=warnings)


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
    sizes, reasons = dict[Group, dict[str, int]](), dict[Group, str]()
    fewest, about = dict[Group, int](), inner.describe()
    for split in Split:
        try:
            prepared = scored.prepare(columns, truth.rows(split))
            prepared = prepared[0] if metric.reported else prepared
        except UnsuitableTruth as error:
            problems += [f"In the {split.value} split: {each}" for each in error.problems]
            continue
        for place in (*prepared.groups, *prepared.skipped):
            column, value = place
            rows = truth.rows(split)[columns[column][truth.rows(split)].astype(str) == value]
            sizes.setdefault(place, {})[split.value] = rows.size
            size = size_of_group(about, columns, rows)
            fewest[place] = min(size, fewest.get(place, size))
        for place, why in prepared.skipped.items():
            reasons[place] = (
                f"The metric is undefined in the {split.value} rows of this group: {' '.join(why)}"
            )
    if problems:
        return [], problems
    of_class = " of a class" if about.compares_classes else ""
    lines = []
    for place, rows in sizes.items():
        why_not = reasons.get(place, "")
        if not why_not and len(rows) < len(Split):
            why_not = f"All its rows are {next(iter(rows))}."
        elif not why_not and fewest[place] < least:
            why_not = f"A split has only {fewest[place]:,} of its rows{of_class}. The minimum is {least}."
        is_defined, is_small = place not in reasons and len(rows) == len(Split), fewest[place] < LEAST_ROWS
        lines.append(
            {"column": place[0], "value": place[1], "rows": rows, "is_defined": is_defined}
            | {"why_not": why_not, "is_small": is_small}
        )
    return lines, problems


def _size_warnings(lines: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Warn about groups whose values are mostly chance, and which may disclose labels."""
    for is_in_score, fate in ((True, "are in the score"), (False, 'are shown together as "(other)"')):
        small = [
            f"{line['column']} = {line['value']}"
            for line in lines
            if line["is_small"] and line["in_score"] is is_in_score
        ]
        if small:
            few = f"fewer than {LEAST_ROWS} rows, or rows of a class, in a split"
            yield "small_groups", f"{counted(len(small), 'group')} with {few} {fate}: {listed(small)}."


def _scale_warnings(truth: Truth, metric: NamedMetric) -> tuple[tuple[str, str], ...]:
    """Warn if the unit of the target makes scores so small that ranks depend on time, or very long."""
    about, rows = metric.describe(), truth.rows(Split.PUBLIC)
    columns = (*about.truth, *about.predictions)
    is_number = all(each.kind is ColumnKind.NUMBER for each in columns)
    if metric.is_python or about.direction is Direction.HIGHEST or not is_number:
        return ()
    scorer, targets = metric_of(metric.name, metric.options), truth.columns
    means = {
        to.name: np.full(truth.usage.size, targets[each.name][rows].mean())
        for each, to in zip(about.truth, about.predictions, strict=True)
    }
    score = scorer.score(scorer.prepare(targets, rows), scorer.encode(means)).score
    scale = Scale(about.decimals, is_lowest_best=True)
    if abs(scale.units(score)) < FEW_UNITS:
        change = f"With {about.decimals} decimals, many scores are equal. Use a smaller unit of the target."
    elif about.decimals and score >= 10.0 ** (MOST_DIGITS - about.decimals):
        digits = math.floor(math.log10(score)) + 1
        change = f"Set the decimals to {max(0, MOST_DIGITS - digits)} to show at most {MOST_DIGITS} digits."
    else:
        return ()
    text = f"If all predictions are the mean of the target, the score is {score:.3g}. {change}"
    return (("score_scale", text),)


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
