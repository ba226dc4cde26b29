"""Score receipts in JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from grader.errors import OrganizerError
from grader.receipts.recount import TERMS, RecountSettings

FORM = 2
# Errors raised while parsing invalid receipts. `json` raises RecursionError for deeply nested brackets.
UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError)
DECIMALS = 5
_LARGEST_UNITS = 2**53


class InvalidReceipt(OrganizerError):
    """The data is not a receipt that this version can read or verify."""

    public_name = "invalid_receipt"


@dataclass(frozen=True, slots=True)
class SplitReceipt:
    """The results of a submission on one split.

    `shown` is the score as displayed on the leaderboard. `score`, `terms` and `counts` (exact integers for
    every cell) are None on a team's receipt until the solution is published. For a metric other than that of
    bias, `evidence` replaces the counts, and `groups` has the rows and the score of each group.
    """

    shown: str
    score: float | None = None
    terms: Mapping[str, float] | None = None
    counts: Mapping[str, Any] | None = None
    evidence: Mapping[str, Any] | None = None
    groups: Mapping[str, Mapping[str, Mapping[str, float]]] | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """One submission's score under one scoring version.

    `commitment` is the SHA-256 of the nonce and the digest of the canonical form. `nonce` consists of
    random bytes in hexadecimal. `label` and `identities` are the columns of the organizer's file from which
    the canonical form was created. The nonce and these names are None on a team's receipt until the solution
    is published. `exactness` and `decimals` are those of a metric other than that of bias.
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
    exactness: str | None = None
    decimals: int | None = None

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
            **_known({"exactness": self.exactness, "decimals": self.decimals}),
            "splits": {name: _known(asdict(split)) for name, split in self.splits.items()},
        }

    def to_json(self) -> str:
        """Return the receipt as the contents of a JSON file."""
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> "Receipt":
        """Parse a receipt from the output of `to_json`; raise InvalidReceipt if it is invalid."""
        try:
            receipt = _receipt(json.loads(text))
            receipt.to_json().encode()  # A text with half of a character could not be shown.
        except UNREADABLE as error:
            raise InvalidReceipt("The file is not a Fairboard score receipt.") from error
        return receipt


def _receipt(data: Mapping[str, Any]) -> Receipt:
    form = data["receipt"]
    if form != FORM:
        raise InvalidReceipt(f"The receipt has format {form}, but this version supports only format {FORM}.")
    solution, identities = data["solution"], data["solution"].get("identities")
    bytes.fromhex(solution.get("nonce") or "")
    is_bias = "name" not in data["settings"]
    if is_bias:
        RecountSettings.from_dict(data["settings"])
    return Receipt(
        competition=data["competition"],
        submission=data["submission"]["id"],
        file=data["submission"]["sha256"],
        scoring_version=data["scoring_version"],
        solution_number=solution["number"],
        metric_settings=data["settings"],
        metric_code_version=data["metric_code_version"],
        splits={name: _split(split, is_bias=is_bias) for name, split in data["splits"].items()},
        commitment=solution["commitment"],
        nonce=solution.get("nonce"),
        label=solution.get("label"),
        identities=None if identities is None else tuple(identities),
        exactness=data.get("exactness"),
        decimals=None if "decimals" not in data else int(data["decimals"]),
    )


def _split(data: Mapping[str, Any], *, is_bias: bool) -> SplitReceipt:
    split = SplitReceipt(**data)
    if is_bias and split.terms is not None and set(split.terms) != set(TERMS):
        raise ValueError("unknown terms")
    return split


def _known(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if value is not None}


def shown(value: float | None, decimals: int = DECIMALS) -> str | None:
    """Format a score as on leaderboards, rounding half to even; huge ones have an exponent."""
    if value is None:
        return None
    exact = Decimal(value)
    if abs(exact).scaleb(decimals) >= _LARGEST_UNITS:
        return f"{value:.5e}"
    return f"{exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_EVEN) + 0:.{decimals}f}"
