"""Receipt of a score: its inputs, settings, counts and result, as JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from grader.errors import OrganizerError
from grader.receipts.recount import TERMS, Settings

FORM = 2
# What reading anything else comes to; the last is the standard library's word on brackets without end.
_UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError)


class InvalidReceipt(OrganizerError):
    """The data are not a receipt that this version can read."""

    public_name = "invalid_receipt"


@dataclass(frozen=True, slots=True)
class SplitReceipt:
    """What a submission got on one split.

    `shown` is the score as the leaderboard shows it. `score`, `terms` and `counts` (exact integers of every
    cell) are None on a team's receipt until the solution is published.
    """

    shown: str
    score: float | None = None
    terms: Mapping[str, float] | None = None
    counts: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """One submission's score under one scoring version.

    `commitment` is the sha256 of `nonce`, random bytes in hexadecimal, followed by the solution's canonical
    form; `label` and `identities` name the columns of the organizer's own file that it was made of. The nonce
    and the names are None on a team's receipt until the solution is published.
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
        """Return the receipt as the text of a JSON file."""
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> "Receipt":
        """Read what `to_json` returned; raise InvalidReceipt."""
        try:
            return _receipt(json.loads(text))
        except _UNREADABLE as error:
            raise InvalidReceipt(f"This is not a score receipt of Fairboard ({error!r}).") from error


def _receipt(data: Mapping[str, Any]) -> Receipt:
    form = data["receipt"]
    if form != FORM:
        raise InvalidReceipt(f"The receipt has form {form}; this version reads form {FORM}.")
    solution, identities = data["solution"], data["solution"].get("identities")
    Settings.from_dict(data["settings"])
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
