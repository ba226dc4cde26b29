"""Taking in an organizer's solution: splits, identity set, checks, blobs. No session: all this comes before
the transaction that refers to the blobs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.errors import OrganizerError
from grader.files import RowIds, Solution, write_sample_submission
from grader.metrics import METRIC_CODE_VERSION, MetricSettings, PairCounts, count_pairs, report
from grader.models import ScoringVersion, Split
from grader.services.metric_choice import MIN_CLASS_ROWS
from grader.services.rules import Rules
from grader.services.splitting import split_in_half
from grader.services.truth import IGNORED, Truth
from grader.storage import Storage

SHOWN_IDS = 5


class UnusableSolution(OrganizerError):
    """A readable solution cannot be used for a competition; `problems` has one sentence each."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class StoredSolution:
    """A solution whose blobs are stored and whose cells are all defined, ready for the tables.

    `report` is the organizer's: the columns, the rows and classes of each split, and the counts of every
    identity with whether it is in the score.
    """

    row_ids_sha256: str
    prepared_sha256: str
    sample_submission_sha256: str
    row_count: int
    public_row_count: int
    private_row_count: int
    rules: Rules
    metric_code_version: str
    report: dict[str, Any]


def store(
    storage: Storage,
    solution: Solution,
    *,
    split_key: bytes,
    settings: MetricSettings | None = None,
    identities: Sequence[str] | None = None,
    min_class_rows: int = MIN_CLASS_ROWS,
) -> StoredSolution:
    """Store a new competition's solution; raise UnusableSolution with all problems.

    Without a Usage column rows are split in half by `split_key`. Without `identities` those with at least
    `min_class_rows` rows of each class in each split make the score.
    """
    settings = settings or MetricSettings()
    if solution.usage is not None:
        usage, origin = solution.usage, "usage"
    else:
        usage, origin = _split(solution, settings, split_key), "keyed hash"
    truth = Truth(solution.labels, solution.identities, usage)
    names = _proposed(truth, settings, min_class_rows) if identities is None else _known(identities, solution)
    rules = Rules(names, settings)
    return _store(storage, solution, truth, rules, _report(solution, truth, rules, origin))


def store_corrected(storage: Storage, solution: Solution, *, live: ScoringVersion) -> StoredSolution:
    """Store a corrected solution for a rescoring; raise UnusableSolution with all problems.

    The row ids must be the same set; the identities and the metric stay those of the live scoring version.
    Without a Usage column every row stays in its split.
    """
    rules = Rules.from_dict(live.metric_settings)
    _known(rules.identities, solution)
    live_ids = RowIds.from_bytes(storage.read(live.solution.row_ids_sha256))
    positions = _positions(live_ids, solution.row_ids)
    if solution.usage is not None:
        usage, origin = solution.usage, "usage"
    else:
        before = Truth.from_bytes(storage.read(live.solution.prepared_sha256))
        usage, origin = before.usage[positions], "live solution"
    truth = Truth(solution.labels, solution.identities, usage)
    return _store(storage, solution, truth, rules, _report(solution, truth, rules, origin))


def _split(solution: Solution, settings: MetricSettings, key: bytes) -> NDArray[np.int8]:
    return split_in_half(
        solution.row_ids,
        solution.labels >= settings.label_threshold,
        {name: values >= settings.identity_threshold for name, values in solution.identities.items()},
        key=key,
    )


def _known(identities: Sequence[str], solution: Solution) -> tuple[str, ...]:
    unknown = [name for name in identities if name not in solution.identities]
    if unknown:
        raise UnusableSolution([f"The solution has no identity column {name!r}." for name in unknown])
    if not identities:
        raise UnusableSolution(["A competition needs at least one identity in its score."])
    return tuple(identities)


def _counts(truth: Truth, split: Split, rules: Rules) -> PairCounts:
    prepared = truth.prepare(
        split, identities=tuple(truth.identities), settings=rules.metric, in_score=rules.identities
    )
    return count_pairs(prepared, np.zeros(prepared.rows))


def _proposed(truth: Truth, settings: MetricSettings, min_class_rows: int) -> tuple[str, ...]:
    everything = Rules(tuple(truth.identities), settings)
    cells = [_counts(truth, split, everything).identities for split in Split]
    names = tuple(
        each[0].name
        for each in zip(*cells, strict=True)
        if min(min(cell.positives, cell.negatives) for cell in each) >= min_class_rows
    )
    if not names:
        raise UnusableSolution(
            [
                f"No identity has at least {min_class_rows} positive and {min_class_rows} negative rows in "
                "each split. Name the identities to score, or bring a larger solution."
            ]
        )
    return names


def _report(solution: Solution, truth: Truth, rules: Rules, origin: str) -> dict[str, Any]:
    """Count the classes of every identity in each split; raise UnusableSolution if a cell is undefined."""
    problems: list[str] = []
    counts = {}
    for split in Split:
        counts[split] = _counts(truth, split, rules)
        problems += _undefined(counts[split], split, rules)
    if problems:
        raise UnusableSolution(problems)
    return {
        "label": solution.roles.label,
        "unused_columns": list(solution.roles.unused),
        "split_by": origin,
        "rows": len(solution.row_ids),
        "ignored_rows": int(np.count_nonzero(truth.usage == IGNORED)),
        "splits": {
            split.value: {"rows": each.rows, "positives": each.positives} for split, each in counts.items()
        },
        "identities": [
            {"name": name, "in_score": name in rules.identities}
            | {
                split.value: {"positives": cell.positives, "negatives": cell.negatives}
                for split, cell in zip(Split, cells, strict=True)
            }
            for name, *cells in zip(
                truth.identities, *(each.identities for each in counts.values()), strict=True
            )
        ],
    }


def _undefined(counts: PairCounts, split: Split, rules: Rules) -> list[str]:
    undefined = report(counts, rules.metric).undefined
    return [
        f"In the {split.value} split {cell}."
        for cell in undefined
        if cell.affects_score and (cell.subgroup is not None or cell.term == "overall_auc")
    ]


def _positions(live_ids: RowIds, new_ids: RowIds) -> NDArray[np.intp]:
    """Return where each new id stands among the live ones; raise UnusableSolution if the sets differ."""
    place = {row_id: position for position, row_id in enumerate(live_ids)}
    missing = place.keys() - set(new_ids)
    unknown = [row_id for row_id in new_ids if row_id not in place]
    problems = []
    if missing:
        problems.append(
            f"{len(missing):,} row ids of the live solution are missing: {_examples(sorted(missing))}. "
            "To remove a row from the score, give it the Usage Ignored."
        )
    if unknown:
        problems.append(f"{len(unknown):,} row ids are not in the live solution: {_examples(unknown)}.")
    if problems:
        raise UnusableSolution(problems)
    return np.fromiter((place[row_id] for row_id in new_ids), dtype=np.intp, count=len(new_ids))


def _examples(row_ids: Sequence[str]) -> str:
    return ", ".join(row_ids[:SHOWN_IDS]) + (", …" if len(row_ids) > SHOWN_IDS else "")


def _store(
    storage: Storage, solution: Solution, truth: Truth, rules: Rules, report: dict[str, Any]
) -> StoredSolution:
    return StoredSolution(
        row_ids_sha256=storage.put(solution.row_ids.to_bytes()).sha256,
        prepared_sha256=storage.put(truth.to_bytes()).sha256,
        sample_submission_sha256=storage.put(write_sample_submission(solution.row_ids)).sha256,
        row_count=len(solution.row_ids),
        public_row_count=truth.rows(Split.PUBLIC).size,
        private_row_count=truth.rows(Split.PRIVATE).size,
        rules=rules,
        metric_code_version=str(METRIC_CODE_VERSION),
        report=report,
    )
