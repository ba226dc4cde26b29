"""Assessment of uploaded solutions: roles, splits, groups in the score, problems, report.

Nothing here uses a database session, because the assessment runs before the transaction that stores its
result.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from grader.errors import ErrorKind, OrganizerRefusal
from grader.files import (
    ColumnRole,
    PublicTable,
    RowIds,
    Solution,
    read_solution,
    submission_upload_cap,
)
from grader.files.solution.canonical_form import USAGE_NAMES
from grader.metrics.python_metric import PythonSettings
from grader.metrics.python_table import PythonTable, settings_of
from grader.models import ScoringVersion
from grader.scored_files import predicted_columns, read_truth
from grader.services.competitions.metric import MIN_CLASS_ROWS, MetricChoice, NamedMetric, Rules
from grader.services.solutions import groups, python_solution
from grader.services.solutions import report as solution_report
from grader.services.solutions.groups import Grouped
from grader.services.solutions.report import Level
from grader.services.solutions.truth import IGNORED, Truth, split_in_half
from grader.storage.stores import Storage
from grader.text import counted, listed, quoted

SHOWN_IDS = 5
_ROLES = frozenset({ColumnRole.ID, ColumnRole.LABEL, ColumnRole.USAGE, ColumnRole.SLICE})


class UnusableSolution(OrganizerRefusal):
    """The solution can be read but cannot be used for a competition."""

    def __init__(self, problems: Iterable[str]) -> None:
        super().__init__("unusable_solution", ErrorKind.CONFLICT, problems=problems)


@dataclass(frozen=True, eq=False)
class Assessed:
    """An assessed solution; `unscorable` lists the reasons why it cannot be used for scoring."""

    row_ids: RowIds
    truth: Truth
    rules: Rules
    report: dict[str, Any]
    unscorable: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class LiveSolution:
    """The live solution that a corrected solution will replace."""

    row_ids: RowIds
    truth: Truth
    rules: Rules

    @classmethod
    def load(cls, storage: Storage, version: ScoringVersion) -> "LiveSolution":
        """Read the solution of a scoring version; call this only in workers and organizers' commands."""
        return cls(
            RowIds(storage.read(version.solution.row_ids_sha256)),
            Truth.from_bytes(storage.read(version.solution.prepared_sha256)),
            Rules.of(version),
        )


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
    if metric.takes_identities:
        return dict(chosen or guessed)
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
    proposed: Collection[str] = (),
    sample: PythonTable | None = None,
) -> tuple[Solution, NamedMetric]:
    """Read a solution whose columns have these roles; return it and the metric.

    `proposed` are columns whose role no one has chosen. A metric written in Python has the columns of the
    solution and of the `sample` submission.

    Raises
    ------
    FileRejected, WrongColumns, UnusableSolution
        The solution cannot be read, or it has no true values.
    """
    if metric.takes_identities:
        return read_solution(source, roles=roles, proposed=proposed), metric
    columns: dict[ColumnRole, list[str]] = {role: [] for role in ColumnRole}
    for name, role in roles.items():
        columns[role].append(name)
    targets, groups, usage = (
        columns[role] for role in (ColumnRole.LABEL, ColumnRole.SLICE, ColumnRole.USAGE)
    )
    row_id = next(iter(columns[ColumnRole.ID]), None)
    if metric.is_python:
        table = PythonTable.read(source, names=targets, groups=groups, usage=usage, row_id=row_id)
        if not targets:
            raise UnusableSolution(
                ["A metric written in Python needs a column with true values. Choose its role."]
            )
        settings = settings_of(table, sample, PythonSettings.from_dict(metric.python or {}))
        return table.solution(), metric.model_copy(update={"python": settings.as_dict()})
    target = None if metric.columns else next(iter(targets), metric.target)
    options = metric.blank_options
    solution = read_truth(
        source, metric.name, options, target=target, groups=groups, usage=usage, row_id=row_id
    )
    if clash := solution.targets.keys() & solution.slices.keys():
        names = ", ".join(sorted(clash))
        raise UnusableSolution(
            [f"Rename the group column {names}: the metric uses this name for its target."]
        )
    return solution, metric


def assess(
    solution: Solution,
    *,
    choice: MetricChoice,
    split_key: bytes = b"",
    live: LiveSolution | None = None,
    roles: Mapping[str, ColumnRole] | None = None,
    undecided: Sequence[str] = (),
    test: PublicTable | None = None,
) -> Assessed:
    """Assess the solution of a new competition, or a corrected one.

    If there is no Usage column, `split_key` splits the rows of a new solution in half; a corrected solution
    keeps the splits, the metric and the groups in the score of the live one. `roles` are those shown in the
    report, by default those of the solution. `undecided` are columns whose role no one has chosen.

    Raises
    ------
    UnusableSolution
        If a corrected solution has other row ids, or lacks an identity in the score.
    """
    metric, usage, split_by = choice.metric, solution.usage, "usage"
    if live is None:
        if usage is None:
            usage = split_in_half(solution.row_ids, *groups.strata(solution, metric), key=split_key)
            split_by = "keyed hash"
    else:
        choice = live.rules.choice(MIN_CLASS_ROWS)
        choice = choice if metric.takes_identities else choice.model_copy(update={"metric": metric})
        problems = groups.unknown_identities(live.rules.identities, solution.identities)
        try:
            positions = positions_in(live.row_ids, solution.row_ids)
        except UnusableSolution as error:
            raise UnusableSolution([*problems, *error.problems]) from None
        if problems:
            raise UnusableSolution(problems)
        if usage is None:
            usage, split_by = live.truth.usage[positions], "live solution"
    options = metric.blank_options
    if solution.classes:
        options = replace(options, classes=solution.classes)
    columns = predicted_columns(metric.describe(), options)
    if live is None:
        known = {} if metric.is_python or metric.takes_identities else {"classes": solution.classes}
        resolved = metric.model_copy(update={"id": solution.roles.id or metric.id, **known})
        choice = choice.model_copy(update={"metric": resolved})
    other_labels = tuple(solution.other_labels)
    described = _described(solution, None if metric.takes_identities else roles) | {
        "undecided": list(undecided),
        "split_by": split_by,
        "submission_bytes": submission_upload_cap(solution.row_ids, other_labels, wanted=columns),
        "min_class_rows": choice.min_class_rows,
        "test": test
        and {
            "columns": list(test.columns),
            "rows": int(test.positions.size),
            "problems": [problem.as_dict() for problem in test.problems],
        },
    }
    truth = Truth.of(solution, usage)
    return _assessed(solution.row_ids, truth, choice, described, live=live, test=test)


def _described(solution: Solution, roles: Mapping[str, ColumnRole] | None) -> dict[str, Any]:
    """Return the part of the report that names the columns, with these roles or those of the solution."""
    by_column = solution.roles.by_column if roles is None else roles
    targets = {"targets": [{"column": name} for name in solution.names]} if solution.names else {}
    return targets | {
        "id": solution.roles.id,
        "label": next(iter(solution.names), solution.roles.label),
        "usage": solution.roles.usage,
        "other_labels": list(solution.other_labels),
        "pair": next(iter(solution.roles.having(ColumnRole.PAIR)), None),
        "unused_columns": list(solution.roles.having(ColumnRole.UNUSED)),
        "roles": {name: role.value for name, role in by_column.items()},
    }


def assess_settings(
    described: Mapping[str, Any],
    *,
    live: LiveSolution,
    rules: Rules,
    is_draft: bool = False,
) -> Assessed:
    """Assess the current solution with changed groups in the score or another metric for its columns.

    `described` is the solution's report, which contains the names of its columns. In a draft, label leaks are
    still findings that must be fixed.
    """
    kept = {name: each for name, each in described.items() if name not in ("changes", "findings")}
    least = described.get("min_class_rows", MIN_CLASS_ROWS)
    choice = MetricChoice(identities=rules.identities, min_class_rows=least, metric=rules.metric)
    before = None if is_draft else live
    return _assessed(live.row_ids, live.truth, choice, kept, live=before, is_same=True)


def compare(live: LiveSolution, solution: Solution, truth: Truth) -> tuple[dict[str, Any], bytes]:
    """Return the changed values of a corrected solution as a summary in JSON and as a CSV file."""
    positions = positions_in(live.row_ids, solution.row_ids)
    names = dict(zip(solution.targets, solution.names, strict=True))
    usage = solution.roles.usage or "Usage"
    before, after = (
        {names.get(name, name): values for name, values in each.as_written(solution.roles.label).items()}
        | {usage: [USAGE_NAMES[code] for code in each.usage.tolist()]}
        for each in (live.truth, truth)
    )
    before = {
        name: values[positions] if isinstance(values, np.ndarray) else [values[row] for row in positions]
        for name, values in before.items()
    }
    return solution_report.changes_of(before, after, solution.row_ids, usage)


def with_python_check(assessed: Assessed, source: bytes, sample: PythonTable | None) -> Assessed:
    """Run the setup check of a metric written in Python, and add its result to the report."""
    if assessed.unscorable:
        return assessed
    metric, check, problems = python_solution.python_checked(
        assessed.row_ids, assessed.truth, sample, source, assessed.rules.metric
    )
    messages = [(Level.STOP, each) for each in problems]
    messages += [(Level.WARNING, each) for each in check.get("warnings", ())]
    findings = [solution_report.finding(level, "python_metric", each) for level, each in messages]
    report = assessed.report | {"python": check, "findings": [*findings, *assessed.report["findings"]]}
    return replace(assessed, rules=Rules(metric=metric), report=report, unscorable=tuple(problems))


def positions_in(live_ids: RowIds, new_ids: RowIds) -> NDArray[np.intp]:
    """Return the position of each new id in the live solution; raise UnusableSolution if the ids differ."""
    place = live_ids.index()
    texts = new_ids.text.split(b"\n")[:-1]
    missing = sorted(text.decode() for text in place.keys() - set(texts))
    unknown = [text.decode() for text in texts if text not in place]
    problems = []
    if missing:
        problems.append(
            f"{counted(len(missing), 'row id')} of the live solution missing: {_examples(missing)}. Add "
            "them, with the Usage Ignored to remove them from the score."
        )
    if unknown:
        problems.append(
            f"{counted(len(unknown), 'row id')} not in the live solution: {_examples(unknown)}. Remove them."
        )
    if problems:
        raise UnusableSolution(problems)
    return np.fromiter((place[text] for text in texts), dtype=np.intp, count=len(texts))


def _assessed(
    row_ids: RowIds,
    truth: Truth,
    choice: MetricChoice,
    described: Mapping[str, Any],
    *,
    live: LiveSolution | None,
    is_same: bool = False,
    test: PublicTable | None = None,
) -> Assessed:
    """Return the assessment with its report; `is_same` if the solution is the live one."""
    if choice.metric.takes_identities:
        grouped = groups.identities_of(truth, choice)
    else:
        names = [each["column"] for each in described["targets"]]
        keeps = is_same or live is not None
        grouped = groups.values_of(truth, choice, row_ids, names, keeps_groups=keeps)
    report = {
        **described,
        "rows": len(row_ids),
        "ignored_rows": int(np.count_nonzero(truth.usage == IGNORED)),
        "slices": [
            {"name": name, "values": len(each.values), "blank": int(np.count_nonzero(each.codes < 0))}
            for name, each in truth.slices.items()
        ],
        "odd_ids": solution_report.odd_ids(row_ids),
        "leaks": list(solution_report.leaks(row_ids, grouped.is_high, truth.usage, grouped.members, test)),
        **grouped.facts,
    }
    lost = [] if live is None else [each for each in live.truth.identities if each not in truth.identities]
    report["findings"] = [
        *(solution_report.finding(Level.STOP, "unscorable", each) for each in grouped.problems),
        *(solution_report.finding(Level.WARNING, *each) for each in grouped.warnings),
        *solution_report.lost_identities(lost),
        *solution_report.findings(
            report, is_corrected=live is not None, is_chosen=choice.identities is not None
        ),
        *(solution_report.finding(Level.NOTE, "metric", each) for each in _of_classes(grouped)),
    ]
    return Assessed(row_ids, truth, grouped.rules, report, tuple(grouped.problems))


def _of_classes(grouped: Grouped) -> Iterator[str]:
    """State how a metric uses classes: the positive one, and their order if it matters."""
    metric = grouped.rules.metric
    if metric.classes and not metric.is_python and not metric.problems():
        order = " in this order" if metric.describe().orders_classes else ""
        shown = listed([quoted(each) for each in metric.classes], most=20)
        yield f"{metric.describe().sentence} Classes{order}: {shown}."


def _examples(row_ids: Sequence[str]) -> str:
    return ", ".join(row_ids[:SHOWN_IDS]) + (", …" if len(row_ids) > SHOWN_IDS else "")
