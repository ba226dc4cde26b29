"""Identities as the groups of a score: the split by them, the choice, and their rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairboard import PairCounts, PreparedSplit, prepare, report
from fairboard.bias.counts import IdentityCounts
from fairboard.bias.expected_error import score_standard_error
from fairboard.bias.subgroups import MEANS
from grader.files import Solution
from grader.models import Split
from grader.services.competitions import settings_problems
from grader.services.competitions.metric import MetricChoice, NamedMetric, Rules
from grader.services.solutions.groups import Grouped, Strata
from grader.services.solutions.truth import IGNORED, PRIVATE, PUBLIC, Truth

_NO_WINS = dict.fromkeys([name for name in IdentityCounts._fields if name.endswith("_wins")], 0)


def strata(solution: Solution, metric: NamedMetric) -> Strata:
    """Return the positive rows, and those that mention each identity."""
    threshold = metric.formula.identity_threshold
    members = {name: values >= threshold for name, values in solution.identities.items()}
    return solution.labels >= metric.formula.label_threshold, members


def unknown(names: Sequence[str], there: Mapping[str, Any]) -> list[str]:
    """Return a problem for each name that is not an identity column."""
    return [
        f"The solution has no identity column {name!r}. {settings_problems.joined_names_hint(name)}".rstrip()
        for name in names
        if name not in there
    ]


def grouped(truth: Truth, choice: MetricChoice, *, is_kept: bool) -> Grouped:
    """Return the identities in the score with their rows, and the undefined cells of the score.

    If no identities are chosen, the score uses all with enough rows of each class in each split. If `is_kept`
    is true, the choice is that of the live solution.
    """
    formula = choice.form.formula
    problems = list[str]()
    if choice.identities is None:
        names = _proposed(truth, choice)
        least = choice.min_class_rows
        if not names:
            problems.append(
                f"No identity has at least {least} positive and {least} negative rows in each split. Choose "
                "the identities in the score, or upload a larger solution."
            )
    else:
        names = tuple(name for name in choice.identities if name in truth.identities)
        problems += unknown(choice.identities, truth.identities)
        if not choice.identities:
            problems.append("No identity is selected for the score. Choose at least one.")
    rules = Rules(identities=names, metric=choice.metric)
    splits = {split: _prepared(truth, split, rules) for split in Split}
    blank = np.ones(truth.usage.size, np.bool_)
    for values in truth.identities.values():
        blank &= np.isnan(values)
    lines = _lines(splits, names)
    facts = {
        "unannotated_rows": int(np.count_nonzero(blank & (truth.usage != IGNORED))),
        "splits": {
            split.value: {
                "rows": prepared.rows,
                "positives": prepared.positives,
                "score_error": score_standard_error(prepared, formula),
                "unannotated": int(np.count_nonzero(blank[truth.rows(split)])),
            }
            for split, prepared in splits.items()
        },
        "identities": lines,
        "left_out": _left_out(lines, choice, is_kept=is_kept),
    }
    problems += _undefined(splits, lines, rules)
    members = {name: values >= formula.identity_threshold for name, values in truth.identities.items()}
    return Grouped(rules, facts, problems, truth.labels >= formula.label_threshold, members)


def _prepared(truth: Truth, split: Split, rules: Rules) -> PreparedSplit:
    rows = truth.rows(split)
    identities = {name: values[rows] for name, values in truth.identities.items()}
    return prepare(truth.labels[rows], identities, settings=rules.form.formula, in_score=rules.identities)


def _lines(splits: Mapping[Split, PreparedSplit], in_score: Sequence[str]) -> list[dict[str, Any]]:
    names = next(iter(splits.values())).names
    lines: list[dict[str, Any]] = [{"name": name, "in_score": name in in_score} for name in names]
    for split, prepared in splits.items():
        for line, rows in zip(lines, prepared.members, strict=True):
            positives = int(np.count_nonzero(prepared.labels[rows]))
            line[split.value] = {"positives": positives, "negatives": rows.size - positives}
    return lines


def _left_out(
    lines: Sequence[Mapping[str, Any]], choice: MetricChoice, *, is_kept: bool
) -> list[dict[str, Any]]:
    """Return the identity columns that are not in the score, with the reason."""
    if is_kept:
        why = "not in the competition's score"
    elif choice.identities is not None:
        why = "not chosen"
    else:
        why = f"fewer than {choice.min_class_rows} rows of a class in a split"
    names = [line["name"] for line in lines if not line["in_score"]]
    return [{"why": why, "names": names}] if names else []


def _proposed(truth: Truth, choice: MetricChoice) -> tuple[str, ...]:
    formula = choice.form.formula
    positive = truth.labels >= formula.label_threshold
    splits = (truth.usage == PUBLIC, truth.usage == PRIVATE)
    cells = [split & (positive == label) for split in splits for label in (True, False)]
    return tuple(
        name
        for name, values in truth.identities.items()
        if _smallest(values >= formula.identity_threshold, cells) >= choice.min_class_rows
    )


def _smallest(mentions: NDArray[np.bool_], cells: Sequence[NDArray[np.bool_]]) -> int:
    return min(int(np.count_nonzero(mentions & cell)) for cell in cells)


def _undefined(
    splits: Mapping[Split, PreparedSplit], lines: Sequence[Mapping[str, Any]], rules: Rules
) -> list[str]:
    """Return a message for each undefined cell of the score, computed from the numbers of rows."""
    problems = []
    for split, prepared in splits.items():
        identities = tuple(
            IdentityCounts(line["name"], line["in_score"], **line[split.value], **_NO_WINS) for line in lines
        )
        counts = PairCounts(prepared.rows, prepared.positives, 0, identities)
        problems += [
            f"In the {split.value} split {cell}."
            for cell in report(counts, rules.form.formula).undefined
            if cell.affects_score and cell.term not in MEANS.values()
        ]
    return problems
