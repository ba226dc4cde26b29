"""Score receipts in JSON, and their verification with the original files."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from grader.errors import OrganizerError
from grader.receipts.reading import read_predictions
from grader.receipts.recount import TERMS, RecountSettings, count, score
from grader.receipts.truth import SPLITS, SlowTruth, read_truth

FORM = 2
# Errors raised while parsing invalid receipts. `json` raises RecursionError for deeply nested brackets.
_UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError)
METRIC_CODE_VERSIONS = ("1",)
_SHOWN = Decimal("0.00001")


class InvalidReceipt(OrganizerError):
    """The data is not a receipt that this version can read or verify."""

    public_name = "invalid_receipt"


@dataclass(frozen=True, slots=True)
class SplitReceipt:
    """The results of a submission on one split.

    `shown` is the score as displayed on the leaderboard. `score`, `terms` and `counts` (exact integers for
    every cell) are None on a team's receipt until the solution is published.
    """

    shown: str
    score: float | None = None
    terms: Mapping[str, float] | None = None
    counts: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """One submission's score under one scoring version.

    `commitment` is the SHA-256 of the nonce followed by the solution's canonical form. `nonce` consists of
    random bytes in hexadecimal. `label` and `identities` are the columns of the organizer's file from which
    the canonical form was created. The nonce and these names are None on a team's receipt until the solution
    is published.
    """

    competition: str
    submission: int
    file: str
    scoring_version: int
    solution_number: int
    metric_settings: Mapping[str, Any]
    metric_code_version: str
    splits: Mapping[str, SplitReceipt]
    commitment: str
    nonce: str | None = None
    label: str | None = None
    identities: tuple[str, ...] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        known = {
            "commitment": self.commitment,
            "nonce": self.nonce,
            "label": self.label,
            "identities": None if self.identities is None else [*self.identities],
        }
        return {
            "receipt": FORM,
            "competition": self.competition,
            "submission": {"id": self.submission, "sha256": self.file},
            "scoring_version": self.scoring_version,
            "solution": {"number": self.solution_number} | _known(known),
            "settings": dict(self.metric_settings),
            "metric_code_version": self.metric_code_version,
            "splits": {name: _known(asdict(split)) for name, split in self.splits.items()},
        }

    def to_json(self) -> str:
        """Return the receipt as the contents of a JSON file."""
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> "Receipt":
        """Parse a receipt from the output of `to_json`; raise InvalidReceipt if it is invalid."""
        try:
            return _receipt(json.loads(text))
        except _UNREADABLE as error:
            raise InvalidReceipt(f"This is not a Fairboard score receipt ({error!r}).") from error


def _receipt(data: Mapping[str, Any]) -> Receipt:
    form = data["receipt"]
    if form != FORM:
        raise InvalidReceipt(f"The receipt has format {form}, but this version supports only format {FORM}.")
    solution, identities = data["solution"], data["solution"].get("identities")
    RecountSettings.from_dict(data["settings"])
    return Receipt(
        competition=data["competition"],
        submission=data["submission"]["id"],
        file=data["submission"]["sha256"],
        scoring_version=data["scoring_version"],
        solution_number=solution["number"],
        metric_settings=data["settings"],
        metric_code_version=data["metric_code_version"],
        splits={name: _split(split) for name, split in data["splits"].items()},
        commitment=solution["commitment"],
        nonce=_hexadecimal(solution.get("nonce")),
        label=solution.get("label"),
        identities=None if identities is None else tuple(identities),
    )


def _hexadecimal(nonce: str | None) -> str | None:
    if nonce is not None:
        bytes.fromhex(nonce)
    return nonce


def _split(data: Mapping[str, Any]) -> SplitReceipt:
    split = SplitReceipt(**data)
    if split.terms is not None and set(split.terms) != set(TERMS):
        raise ValueError("unknown terms")
    return split


def _known(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Recheck:
    """A comparison of the `expected` value in the receipt with the value `found` in the files."""

    what: str
    expected: Any
    found: Any

    @property
    def holds(self) -> bool:
        """Whether both values are identical to the last bit."""
        return bool(self.expected == self.found)


class NonceNeeded(OrganizerError):
    """The receipt does not contain the nonce for its commitment to the solution."""

    public_name = "nonce_needed"
    message = (
        "The receipt was created before the solution was published, so it does not contain the nonce of its "
        "commitment. The nonce is published with the solution, as solution-nonce.txt."
    )


def verify(
    receipt: Receipt, *, submission: bytes | None, solution: bytes | None, nonce: bytes | None = None
) -> list[Recheck]:
    """Compare the files' hashes and, if both files are given, the recomputed scores with a receipt.

    The argument `nonce` takes precedence over the nonce in the receipt.

    Raises
    ------
    UnreadableFile
        If a file cannot be scored.
    InvalidReceipt
        If the receipt was created by another version of the metric code.
    NonceNeeded
        If a solution is given, but neither the arguments nor the receipt contain the nonce.
    """
    settings = RecountSettings.from_dict(receipt.metric_settings)
    checks = []
    if submission is not None:
        sha256 = hashlib.sha256(submission).hexdigest()
        checks.append(Recheck("sha256 of the submission", receipt.file, sha256))
    if solution is not None:
        if nonce is None:
            if receipt.nonce is None:
                raise NonceNeeded
            nonce = bytes.fromhex(receipt.nonce)
        truth = read_truth(
            solution, settings, label=receipt.label, identities=receipt.identities, nonce=nonce
        )
        checks.append(Recheck("sha256 of the nonce and the solution", receipt.commitment, truth.commitment))
        if submission is not None:
            checks += verify_scores(receipt, submission=submission, truth=truth)
    return checks


def verify_scores(receipt: Receipt, *, submission: bytes, truth: SlowTruth) -> Iterator[Recheck]:
    """Recompute the scores from a submission's raw bytes and compare all values in the receipt."""
    if receipt.metric_code_version not in METRIC_CODE_VERSIONS:
        raise InvalidReceipt(
            f"The receipt uses metric code version {receipt.metric_code_version}, but this version of "
            f"Fairboard can verify only version {', '.join(METRIC_CODE_VERSIONS)}."
        )
    settings = RecountSettings.from_dict(receipt.metric_settings)
    predictions = read_predictions(submission, truth.row_ids)
    for name in SPLITS:
        if name in receipt.splits:
            counts = count(truth.rows[name], predictions, settings)
            yield from _compare(name, receipt.splits[name], counts, score(counts, settings))


def _compare(
    name: str, split: SplitReceipt, counts: Mapping[str, Any], result: Mapping[str, float | None]
) -> Iterator[Recheck]:
    if split.counts is not None:
        yield from _compare_counts(name, split.counts, counts)
    if split.terms is not None:
        for term in TERMS:
            yield Recheck(f"{name} {term}", split.terms[term], result[term])
    if split.score is not None:
        yield Recheck(f"{name} score", split.score, result["score"])
    yield Recheck(f"{name} score as shown", split.shown, shown(result["score"]))


def _compare_counts(name: str, expected: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[Recheck]:
    for key in ("rows", "positives", "overall_wins"):
        yield Recheck(f"{name} {key}", expected[key], found[key])
    own = {each["name"]: each for each in expected["identities"] if each["in_score"]}
    yield Recheck(f"{name} identities", sorted(own), sorted(each["name"] for each in found["identities"]))
    for each in found["identities"]:
        for key, value in each.items():
            if key not in ("name", "in_score"):
                yield Recheck(f"{name} {key} of {each['name']}", own.get(each["name"], {}).get(key), value)


def shown(value: float | None) -> str | None:
    """Format a score as on leaderboards, with five decimals, rounding half to even."""
    return None if value is None else f"{Decimal(value).quantize(_SHOWN, ROUND_HALF_EVEN) + 0:.5f}"
