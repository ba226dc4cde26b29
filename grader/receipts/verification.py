"""Verify a receipt: recompute the score from the files and compare every value."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from grader.errors import OrganizerError
from grader.receipts.receipt import InvalidReceipt, Receipt, SplitReceipt
from grader.receipts.recount import TERMS, Settings, count, score
from grader.receipts.submissions import read_predictions
from grader.receipts.truth import SPLITS, SlowTruth, read_truth

METRIC_CODE_VERSIONS = ("1",)
_SHOWN = Decimal("0.00001")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was compared; `expected` is what the receipt says, `found` what the files give."""

    what: str
    expected: Any
    found: Any

    @property
    def holds(self) -> bool:
        """Whether both are the same, to the last bit."""
        return bool(self.expected == self.found)


class NonceNeeded(OrganizerError):
    """A receipt that commits to a solution with a nonce does not hold it."""

    public_name = "nonce_needed"
    message = (
        "The receipt is from before the solution was published: it does not contain the nonce of its "
        "commitment. The nonce is published with the solution, as solution-nonce.txt."
    )


def verify(
    receipt: Receipt, *, submission: bytes | None, solution: bytes | None, nonce: bytes | None = None
) -> list[Check]:
    """Compare the hashes and, where both files are there, the recounted scores with a receipt.

    A `nonce` comes before the one that the receipt holds. Raises UnreadableFile where a file cannot be
    scored, InvalidReceipt where it is of another metric, NonceNeeded.
    """
    settings = Settings.from_dict(receipt.metric_settings)
    checks = []
    if submission is not None:
        found = hashlib.sha256(submission).hexdigest()
        checks.append(Check("sha256 of the submission", receipt.file, found))
    if solution is not None:
        if nonce is None:
            if receipt.nonce is None:
                raise NonceNeeded
            nonce = bytes.fromhex(receipt.nonce)
        truth = read_truth(
            solution, settings, label=receipt.label, identities=receipt.identities, nonce=nonce
        )
        checks.append(Check("sha256 of the nonce and the solution", receipt.commitment, truth.commitment))
        if submission is not None:
            checks += verify_scores(receipt, submission=submission, truth=truth)
    return checks


def verify_scores(receipt: Receipt, *, submission: bytes, truth: SlowTruth) -> Iterator[Check]:
    """Recount a submission from its raw bytes and compare every value that the receipt holds."""
    if receipt.metric_code_version not in METRIC_CODE_VERSIONS:
        raise InvalidReceipt(
            f"The receipt is of metric code version {receipt.metric_code_version}; this version of Fairboard "
            f"recounts {', '.join(METRIC_CODE_VERSIONS)}."
        )
    settings = Settings.from_dict(receipt.metric_settings)
    predictions = read_predictions(submission, truth.row_ids)
    for name in SPLITS:
        if name in receipt.splits:
            counts = count(truth.rows[name], predictions, settings)
            yield from _compare(name, receipt.splits[name], counts, score(counts, settings))


def _compare(
    name: str, split: SplitReceipt, counts: Mapping[str, Any], result: Mapping[str, float | None]
) -> Iterator[Check]:
    if split.counts is not None:
        yield from _compare_counts(name, split.counts, counts)
    if split.terms is not None:
        for term in TERMS:
            yield Check(f"{name} {term}", split.terms[term], result[term])
    if split.score is not None:
        yield Check(f"{name} score", split.score, result["score"])
    yield Check(f"{name} score as shown", split.shown, shown(result["score"]))


def _compare_counts(name: str, expected: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[Check]:
    for key in ("rows", "positives", "overall_wins"):
        yield Check(f"{name} {key}", expected[key], found[key])
    own = {each["name"]: each for each in expected["identities"] if each["in_score"]}
    yield Check(f"{name} identities", sorted(own), sorted(each["name"] for each in found["identities"]))
    for each in found["identities"]:
        for key, value in each.items():
            if key not in ("name", "in_score"):
                yield Check(f"{name} {key} of {each['name']}", own.get(each["name"], {}).get(key), value)


def shown(value: float | None) -> str | None:
    """Return a score as leaderboards show it: five decimals, half even on the exact value."""
    return None if value is None else f"{Decimal(value).quantize(_SHOWN, ROUND_HALF_EVEN) + 0:.5f}"
