"""Assessment of uploaded solutions: splits, identities in the score, problems.

Nothing here uses a database session, because the assessment runs before the transaction that stores its
result.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairboard import MetricSettings, PairCounts, report
from fairboard.bias.counts import IdentityCounts
from fairboard.bias.subgroups import MEANS
from grader.errors import OrganizerError, SeveralProblems
from grader.files import ColumnRole, ColumnRoles, NearMiss, PublicTable, RowIds, Solution
from grader.models import ScoringVersion, Split
from grader.services.competitions import settings_problems
from grader.services.competitions.metric import MetricChoice, Rules
from grader.services.solutions import report as solution_report
from grader.services.solutions import report_warnings
from grader.services.solutions.report import Told
from grader.services.solutions.truth import PRIVATE, PUBLIC, Truth, split_in_half
from grader.storage.stores import Storage

SHOWN_IDS = 5


class UnusableSolution(SeveralProblems, OrganizerError):
    """The solution can be read but cannot be used for a competition."""

    public_name = "unusable_solution"


@dataclass(frozen=True, eq=False)
class _Read:
    """The metadata of a solution file that the report needs."""

    row_ids: RowIds
    roles: ColumnRoles
    near_misses: tuple[NearMiss, ...] = ()


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
            RowIds.from_bytes(storage.read(version.solution.row_ids_sha256)),
            Truth.from_bytes(storage.read(version.solution.prepared_sha256)),
            Rules.of(version),
        )


def assess(
    solution: Solution,
    *,
    split_key: bytes,
    choice: MetricChoice,
    test: PublicTable | None = None,
    tell: Told = lambda _: None,
) -> Assessed:
    """Assess a new competition's solution.

    If there is no Usage column, `split_key` splits the rows in half. If no identities are chosen, the score
    uses all identities with enough rows of each class in each split.
    """
    if solution.usage is not None:
        usage, split_by = solution.usage, "usage"
    else:
        usage, split_by = _split(solution, choice.form.formula, split_key), "keyed hash"
    truth = Truth.of(solution, usage)
    names, problems = _scored(truth, choice)
    rules = Rules(identities=names, metric=choice.metric)
    return _assessed(
        solution,
        truth,
        rules,
        problems,
        split_by=split_by,
        chosen_by=choice,
        test=test,
        tell=tell,
    )


def assess_corrected(
    solution: Solution, *, live: LiveSolution, test: PublicTable | None = None, tell: Told = lambda _: None
) -> Assessed:
    """Assess a corrected solution.

    The identities and the metric of the live scoring version are kept. If there is no Usage
    column, its splits are kept too. Raise UnusableSolution if the row ids differ or an identity in the score
    is missing.
    """
    problems = _unknown(live.rules.identities, solution.identities)
    usage, split_by = solution.usage, "usage"
    try:
        positions = positions_in(live.row_ids, solution.row_ids)
    except UnusableSolution as error:
        raise UnusableSolution([*problems, *error.problems]) from None
    if problems:
        raise UnusableSolution(problems)
    if usage is None:
        usage, split_by = live.truth.usage[positions], "live solution"
    truth = Truth.of(solution, usage)
    lost = [name for name in live.truth.identities if name not in truth.identities]
    return _assessed(
        solution,
        truth,
        live.rules,
        [],
        split_by=split_by,
        lost=lost,
        test=test,
        tell=tell,
    )


def assess_settings(
    described: Mapping[str, Any],
    *,
    live: LiveSolution,
    rules: Rules,
    is_draft: bool = False,
    tell: Told = lambda _: None,
) -> Assessed:
    """Assess the current solution with changed identities or metric.

    `described` is the solution's report, which contains the names of its columns. In a draft, label leaks are
    still findings that must be fixed.
    """
    truth = live.truth
    roles = ColumnRoles(
        id=described.get("id"),
        label=described["label"],
        identities=tuple(truth.identities),
        usage=described.get("usage"),
        unused=tuple(described["unused_columns"]),
        other_labels=tuple(described.get("other_labels", ())),
        slices=tuple(truth.slices),
        pair=described.get("pair"),
    )
    problems = _unknown(rules.identities, truth.identities)
    if not rules.identities:
        problems.append("No identity is selected for the score. Choose at least one.")
    known = Rules(
        identities=tuple(name for name in rules.identities if name in truth.identities), metric=rules.metric
    )
    solution = _Read(live.row_ids, roles)
    return _assessed(
        solution,
        truth,
        known,
        problems,
        split_by=described["split_by"],
        chosen_by=MetricChoice(identities=rules.identities, metric=rules.metric) if is_draft else None,
        test=None,
        tell=tell,
    )


def positions_in(live_ids: RowIds, new_ids: RowIds) -> NDArray[np.intp]:
    """Return the position of each new id in the live solution; raise UnusableSolution if the ids differ."""
    place = live_ids.index()
    texts = new_ids.to_bytes().split(b"\n")[:-1]
    missing = sorted(text.decode() for text in place.keys() - set(texts))
    unknown = [text.decode() for text in texts if text not in place]
    problems = []
    if missing:
        words = "row id of the live solution is" if len(missing) == 1 else "row ids of the live solution are"
        problems.append(
            f"{len(missing):,} {words} missing: {_examples(missing)}. "
            "Add them. To remove a row from the score, give it the Usage Ignored."
        )
    if unknown:
        words = "row id is" if len(unknown) == 1 else "row ids are"
        problems.append(
            f"{len(unknown):,} {words} not in the live solution: {_examples(unknown)}. Remove them."
        )
    if problems:
        raise UnusableSolution(problems)
    return np.fromiter((place[text] for text in texts), dtype=np.intp, count=len(texts))


def _split(solution: Solution, settings: MetricSettings, key: bytes) -> NDArray[np.int8]:
    return split_in_half(
        solution.row_ids,
        solution.labels >= settings.label_threshold,
        {name: values >= settings.identity_threshold for name, values in solution.identities.items()},
        key=key,
    )


def _assessed(
    solution: Solution | _Read,
    truth: Truth,
    rules: Rules,
    problems: Sequence[str],
    *,
    split_by: str,
    test: PublicTable | None,
    tell: Told,
    chosen_by: MetricChoice | None = None,
    lost: Sequence[str] = (),
) -> Assessed:
    """Return the assessment with its report; `chosen_by` is None if the live identities are kept."""
    found = solution_report.describe(
        row_ids=solution.row_ids,
        truth=truth,
        roles=solution.roles,
        rules=rules,
        split_by=split_by,
        near_misses=solution.near_misses,
        test=test,
        tell=tell,
    )
    found["left_out"] = _left_out(found, chosen_by)
    unscorable = (*problems, *_undefined(found, rules))
    findings = [report_warnings.stop("unscorable", message) for message in unscorable]
    found["findings"] = (
        findings
        + report_warnings.lost_identities(lost)
        + report_warnings.find(
            found,
            is_corrected=chosen_by is None,
            are_identities_chosen=chosen_by is not None and chosen_by.identities is not None,
        )
    )
    return Assessed(solution.row_ids, truth, rules, found, unscorable)


def _left_out(found: Mapping[str, Any], chosen_by: MetricChoice | None) -> list[dict[str, Any]]:
    """Return the identity columns that are not in the score, grouped by reason."""
    if chosen_by is None:
        why = "not in the competition's score"
    elif chosen_by.identities is not None:
        why = "not chosen"
    else:
        why = f"fewer than {chosen_by.min_class_rows} rows of a class in a split"
    near = [each["name"] for each in found["near_misses"] if each["role"] == ColumnRole.IDENTITY]
    small = [line["name"] for line in found["identities"] if not line["in_score"]]
    reasons = {"see the problems": near, why: small}
    return [{"why": why, "names": names} for why, names in reasons.items() if names]


def _scored(truth: Truth, choice: MetricChoice) -> tuple[tuple[str, ...], list[str]]:
    """Return the identities in the score and any problems with them."""
    if choice.identities is not None:
        names = tuple(name for name in choice.identities if name in truth.identities)
        problems = _unknown(choice.identities, truth.identities)
        if not choice.identities:
            problems.append("No identity is selected for the score. Choose at least one.")
        return names, problems
    names = _proposed(truth, choice)
    least = choice.min_class_rows
    problem = (
        f"No identity has at least {least} positive and {least} negative rows in each split. Choose the "
        "identities in the score, or upload a larger solution."
    )
    return names, [] if names else [problem]


def _unknown(names: Sequence[str], there: Mapping[str, Any]) -> list[str]:
    return [
        f"The solution has no identity column {name!r}. {settings_problems.joined_names_hint(name)}".rstrip()
        for name in names
        if name not in there
    ]


def _proposed(truth: Truth, choice: MetricChoice) -> tuple[str, ...]:
    settings = choice.form.formula
    positive = truth.labels >= settings.label_threshold
    splits = (truth.usage == PUBLIC, truth.usage == PRIVATE)
    cells = [split & (positive == label) for split in splits for label in (True, False)]
    return tuple(
        name
        for name, values in truth.identities.items()
        if _smallest(values >= settings.identity_threshold, cells) >= choice.min_class_rows
    )


def _smallest(mentions: NDArray[np.bool_], cells: Sequence[NDArray[np.bool_]]) -> int:
    return min(int(np.count_nonzero(mentions & cell)) for cell in cells)


def _undefined(found: Mapping[str, Any], rules: Rules) -> list[str]:
    """Return a message for each undefined cell of the score, computed from the report's counts."""
    problems = []
    for split in Split:
        whole = found["splits"][split.value]
        identities = tuple(
            IdentityCounts(line["name"], line["in_score"], **line[split.value], **_NO_WINS)
            for line in found["identities"]
        )
        counts = PairCounts(whole["rows"], whole["positives"], 0, identities)
        problems += [
            f"In the {split.value} split {cell}."
            for cell in report(counts, rules.form.formula).undefined
            if cell.affects_score and cell.term not in MEANS.values()
        ]
    return problems


_NO_WINS = dict.fromkeys([name for name in IdentityCounts._fields if name.endswith("_wins")], 0)


def _examples(row_ids: Sequence[str]) -> str:
    return ", ".join(row_ids[:SHOWN_IDS]) + (", …" if len(row_ids) > SHOWN_IDS else "")
