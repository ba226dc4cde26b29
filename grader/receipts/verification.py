"""Verification of receipts with the original files.

The score of the bias metric is recomputed by `recount`, which shares no code with the scoring. Any other
built-in metric is computed again by the same code.
"""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairboard.interface import Exactness, UnsuitableTruth
from grader.errors import ErrorKind, OrganizerRefusal
from grader.files import FileRejected, Solution, guess_columns, read_solution, read_submission
from grader.files.solution.canonical_form import canonical_table, commitment_to, digest_of
from grader.files.solution.columns import SPLITS
from grader.metrics import registry
from grader.receipts.receipt import DECIMALS, UNREADABLE, InvalidReceipt, Receipt, SplitReceipt, shown
from grader.receipts.recount import RecountSettings, Row, count, score
from grader.scored_files import columns_of, read_encoded, read_truth

METRIC_CODE_VERSION = "1"
_LEEWAY = 1e-12
_NO_NONCE = (
    "The receipt was created before the solution was published, so it does not contain the nonce of its "
    "commitment. Specify --nonce solution-nonce.txt, the nonce that is published with the solution."
)


@dataclass(frozen=True, slots=True)
class Recheck:
    """A comparison of the `expected` value in the receipt with the `actual` one, from the files.

    Sums of numbers of the rows are not exact, because the last bits of logarithms depend on the machine.
    """

    what: str
    expected: Any
    actual: Any
    is_exact: bool = True

    @property
    def holds(self) -> bool:
        """Whether both values are identical to the last bit or, if they are not exact, almost equal."""
        if not self.is_exact and isinstance(self.expected, float) and isinstance(self.actual, float):
            return math.isclose(self.expected, self.actual, rel_tol=_LEEWAY, abs_tol=_LEEWAY)
        return bool(self.expected == self.actual)


def verify(
    receipt: Receipt, *, submission: bytes | None, solution: bytes | None, nonce: bytes | None = None
) -> list[Recheck]:
    """Compare the files' hashes and, if both files are given, the recomputed scores with a receipt.

    The argument `nonce` takes precedence over the nonce in the receipt. The solution is the published one;
    for the bias metric, the organizer's own file is accepted too.

    Raises
    ------
    FileRejected
        If a file cannot be scored.
    OrganizerRefusal
        If the solution has other columns than the published one, and the receipt does not name them, or if
        neither the arguments nor the receipt contain the nonce for a given solution.
    InvalidReceipt
        If the receipt was created by another version of the metric code, or has values of a wrong type.
    """
    checks = []
    if submission is not None:
        sha256 = hashlib.sha256(submission).hexdigest()
        checks.append(Recheck("sha256 of the submission", receipt.file, sha256))
    if solution is None:
        return checks
    hexadecimal = receipt.nonce if nonce is None else nonce.hex()
    if hexadecimal is None:
        raise OrganizerRefusal("nonce_needed", ErrorKind.CONFLICT, _NO_NONCE)
    try:
        if registry.is_default(receipt.metric_settings):
            checks += _verify_bias(receipt, submission, solution, hexadecimal)
        else:
            digest = hashlib.sha256(solution).hexdigest()
            checks.append(_of_commitment(receipt, digest, hexadecimal))
            if submission is not None and not registry.is_python(receipt.metric_settings):
                checks += _verify_named(receipt, submission, solution)
    except UNREADABLE as error:
        raise InvalidReceipt("A value of the receipt is missing or has a wrong type.") from error
    return checks


def _unsuitable(reason: str) -> OrganizerRefusal:
    return OrganizerRefusal(
        "unsuitable_solution", ErrorKind.CONFLICT, f"{reason} Use the published solution."
    )


def _of_commitment(receipt: Receipt, digest: str, nonce: str) -> Recheck:
    return Recheck("sha256 of the nonce and the solution", receipt.commitment, commitment_to(digest, nonce))


def _verify_bias(receipt: Receipt, submission: bytes | None, data: bytes, nonce: str) -> Iterator[Recheck]:
    settings = RecountSettings.from_dict(receipt.metric_settings)
    solution = _solution(receipt, data)
    assert solution.usage is not None  # noqa: S101 (checked by `_solution`)
    columns = {"label": solution.labels} | dict(sorted(solution.identities.items()))
    form = canonical_table(solution.row_ids, columns, solution.usage)
    yield _of_commitment(receipt, digest_of(form), nonce)
    if submission is None:
        return
    _require_version(receipt, METRIC_CODE_VERSION)
    predictions = dict(zip(solution.row_ids, _predictions(receipt, submission, solution), strict=True))
    for name, rows in rows_of(solution, settings).items():
        if split := receipt.splits.get(name):
            counts = count(rows, predictions, settings)
            yield from _compare(name, split, counts, score(counts, settings))


def _require_version(receipt: Receipt, known: str) -> None:
    if receipt.metric_code_version != known:
        raise InvalidReceipt(
            f"The receipt uses metric code version {receipt.metric_code_version}, but this version of "
            f"Fairboard can verify only version {known}."
        )


def _solution(receipt: Receipt, data: bytes) -> Solution:
    """Read the published solution, or the organizer's own file if the receipt names its columns."""
    header = [guess.name or "" for guess in guess_columns(data)]
    label, identities = receipt.label, receipt.identities
    names = sorted(header[2:-1] if identities is None else identities)
    if header == ["id", "label", *names, "Usage"]:
        label, identities = "label", tuple(names)
    if label is None or identities is None:
        raise _unsuitable("The receipt does not contain the names of the columns.")
    solution = read_solution(data, label=label, identities=identities)
    if solution.usage is None:
        raise _unsuitable("The solution has no column Usage.")
    return solution


def _predictions(receipt: Receipt, data: bytes, solution: Solution) -> list[float]:
    wanted = columns_of(receipt.metric_settings)
    try:
        file = read_submission(data, solution.row_ids, wanted=wanted)
    except FileRejected:
        # The solution may have had other labels, which are not in its published form.
        names = [each.name for each in guess_columns(data)]
        others = [name for name in names if name and name not in wanted.names]
        file = read_submission(data, solution.row_ids, other_labels=others, wanted=wanted)
    predictions: list[float] = file.predictions.tolist()
    return predictions


def rows_of(solution: Solution, settings: RecountSettings) -> dict[str, list[Row]]:
    """Return the rows of the public and the private split for `recount.count`."""
    usage = [] if solution.usage is None else solution.usage.tolist()
    columns = [(name, solution.identities[name].tolist()) for name in settings.identities]
    rows: dict[str, list[Row]] = {"public": [], "private": []}
    splits = {1: rows["public"], 2: rows["private"]}
    for place, (row_id, label, code) in enumerate(
        zip(solution.row_ids, solution.labels.tolist(), usage, strict=True)
    ):
        if code in splits:
            mentions = frozenset(
                name for name, values in columns if values[place] >= settings.identity_threshold
            )
            splits[code].append(Row(row_id, label >= settings.label_threshold, mentions))
    return rows


def _compare(
    name: str, split: SplitReceipt, counts: Mapping[str, Any], result: Mapping[str, float | None]
) -> Iterator[Recheck]:
    if split.counts is not None:
        yield from _compare_counts(name, split.counts, counts)
    stored = {**(split.terms or {}), "score": split.score}
    for key, value in stored.items():
        if value is not None:
            yield Recheck(f"{name} {key}", value, result[key])
    yield Recheck(f"{name} score as shown", split.shown, shown(result["score"]))


def _compare_counts(name: str, expected: Mapping[str, Any], counts: Mapping[str, Any]) -> Iterator[Recheck]:
    for key in ("rows", "positives", "overall_wins"):
        yield Recheck(f"{name} {key}", expected[key], counts[key])
    own = {each["name"]: each for each in expected["identities"] if each["in_score"]}
    yield Recheck(f"{name} identities", sorted(own), sorted(each["name"] for each in counts["identities"]))
    for each in counts["identities"]:
        for key, value in each.items():
            if key not in ("name", "in_score"):
                yield Recheck(f"{name} {key} of {each['name']}", own.get(each["name"], {}).get(key), value)


def _verify_named(receipt: Receipt, submission: bytes, data: bytes) -> Iterator[Recheck]:
    settings = receipt.metric_settings
    metric, options = registry.of_settings(settings), registry.options_of(settings)
    _require_version(receipt, metric.version)
    about = metric.describe()
    yield Recheck("exactness", receipt.exactness, about.exactness.value)
    target = None if options.columns else "target"
    truth = read_truth(data, settings["name"], options, target=target, groups=settings["groups"])
    if truth.usage is None:
        raise _unsuitable("The solution has no column Usage.")
    _, predicted = read_encoded(submission, truth.row_ids, metric, columns_of(settings))
    is_exact = about.exactness is Exactness.COUNTS
    decimals = DECIMALS if receipt.decimals is None else receipt.decimals
    for name, split in receipt.splits.items():
        rows = np.flatnonzero(np.isin(truth.usage, SPLITS[name]))
        try:
            result = metric.score(metric.prepare(truth.columns, rows), predicted)
        except UnsuitableTruth as error:
            yield Recheck(f"{name} score as shown", split.shown, f"undefined ({error})")
            continue
        if split.score is not None:
            stored = _values(split.score, split.terms or {}, split.groups or {})
            values = _values(result.score, result.terms, result.groups)
            for key in stored | values:
                yield Recheck(f"{name} {key}", stored.get(key), values.get(key), is_exact)
        if is_exact and split.evidence is not None:
            evidence = json.loads(json.dumps(result.evidence))
            yield Recheck(f"{name} evidence", split.evidence, evidence)
        leeway = 0.0 if is_exact else _LEEWAY * max(1.0, abs(result.score))
        # A score within the leeway may be displayed as a neighbouring value.
        possible = {shown(result.score + each, decimals) for each in (leeway, -leeway)}
        text = split.shown if split.shown in possible else shown(result.score, decimals)
        yield Recheck(f"{name} score as shown", split.shown, text)


def _values(
    score: float, terms: Mapping[str, float], groups: Mapping[str, Mapping[str, Mapping[str, Any]]]
) -> dict[str, Any]:
    """Return the score, the terms, and the rows and score of each group by name."""
    values: dict[str, Any] = {"score": score, **terms}
    for column, table in groups.items():
        for group, each in table.items():
            values |= {f"{key} of {column} = {group}": each[key] for key in ("rows", "score")}
    return values
