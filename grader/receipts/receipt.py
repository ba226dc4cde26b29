"""Score receipts in JSON, and their verification with the original files."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from grader.errors import OrganizerError
from grader.receipts.reading import finite_number, read_columns, read_predictions
from grader.receipts.recount import TERMS, RecountSettings, count, score
from grader.receipts.recount_metrics import NamedSettings, RecountedValue, recount_groups
from grader.receipts.truth import SPLITS, SlowTruth, classes_in, read_truth

FORM = 2
# Errors raised while parsing invalid receipts. `json` raises RecursionError for deeply nested brackets.
_UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError)
METRIC_CODE_VERSIONS = ("1",)
PYTHON = "python"
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

    `commitment` is the SHA-256 of the nonce followed by the solution's canonical form. `nonce` consists of
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
            return _receipt(json.loads(text))
        except _UNREADABLE as error:
            raise InvalidReceipt(f"This is not a Fairboard score receipt ({error!r}).") from error


def _receipt(data: Mapping[str, Any]) -> Receipt:
    form = data["receipt"]
    if form != FORM:
        raise InvalidReceipt(f"The receipt has format {form}, but this version supports only format {FORM}.")
    solution, identities = data["solution"], data["solution"].get("identities")
    settings = settings_of(data["settings"])
    return Receipt(
        competition=data["competition"],
        submission=data["submission"]["id"],
        file=data["submission"]["sha256"],
        scoring_version=data["scoring_version"],
        solution_number=solution["number"],
        metric_settings=data["settings"],
        metric_code_version=data["metric_code_version"],
        splits={
            name: _split(split, is_bias=isinstance(settings, RecountSettings))
            for name, split in data["splits"].items()
        },
        commitment=solution["commitment"],
        nonce=_hexadecimal(solution.get("nonce")),
        label=solution.get("label"),
        identities=None if identities is None else tuple(identities),
        exactness=data.get("exactness"),
        decimals=None if "decimals" not in data else int(data["decimals"]),
    )


def settings_of(data: Mapping[str, Any]) -> RecountSettings | NamedSettings | None:
    """Return the settings of a metric, or None for a metric.py, which has no second implementation."""
    if "name" not in data:
        return RecountSettings.from_dict(data)
    return None if data["name"] == PYTHON else NamedSettings.from_dict(data)


def _hexadecimal(nonce: str | None) -> str | None:
    if nonce is not None:
        bytes.fromhex(nonce)
    return nonce


def _split(data: Mapping[str, Any], *, is_bias: bool) -> SplitReceipt:
    split = SplitReceipt(**data)
    if is_bias and split.terms is not None and set(split.terms) != set(TERMS):
        raise ValueError("unknown terms")
    return split


def _known(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Recheck:
    """A comparison of the `expected` value in the receipt with the value `found` in the files.

    Numbers may differ by `leeway`, which is not 0 only for sums of numbers of the rows.
    """

    what: str
    expected: Any
    found: Any
    leeway: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether both values are identical to the last bit, or within the leeway."""
        if self.leeway and isinstance(self.expected, float):
            return math.isclose(self.expected, self.found, rel_tol=0, abs_tol=self.leeway)
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
        If the receipt was created by another version of the metric code, or has values of a wrong type.
    NonceNeeded
        If a solution is given, but neither the arguments nor the receipt contain the nonce.
    """
    settings = settings_of(receipt.metric_settings)
    checks = []
    if submission is not None:
        sha256 = hashlib.sha256(submission).hexdigest()
        checks.append(Recheck("sha256 of the submission", receipt.file, sha256))
    if solution is not None:
        if nonce is None:
            if receipt.nonce is None:
                raise NonceNeeded
            nonce = bytes.fromhex(receipt.nonce)
        if settings is None:  # The published file is the canonical form.
            commitment = hashlib.sha256(nonce + solution).hexdigest()
            return [*checks, Recheck("sha256 of the nonce and the solution", receipt.commitment, commitment)]
        truth = read_truth(
            solution, settings, label=receipt.label, identities=receipt.identities, nonce=nonce
        )
        checks.append(Recheck("sha256 of the nonce and the solution", receipt.commitment, truth.commitment))
        if submission is not None:
            try:
                checks += verify_scores(receipt, submission=submission, truth=truth)
            except _UNREADABLE as error:
                raise InvalidReceipt(f"A value of the receipt has a wrong type ({error!r}).") from error
    return checks


def verify_scores(receipt: Receipt, *, submission: bytes, truth: SlowTruth) -> Iterator[Recheck]:
    """Recompute the scores from a submission's raw bytes and compare all values in the receipt."""
    if receipt.metric_code_version not in METRIC_CODE_VERSIONS:
        raise InvalidReceipt(
            f"The receipt uses metric code version {receipt.metric_code_version}, but this version of "
            f"Fairboard can verify only version {', '.join(METRIC_CODE_VERSIONS)}."
        )
    settings = settings_of(receipt.metric_settings)
    if isinstance(settings, NamedSettings):
        yield Recheck("exactness", receipt.exactness, "counts" if settings.is_exact else "sums")
        yield from _verify_named(receipt, submission, truth, settings)
    elif settings is not None:
        predictions = read_predictions(submission, truth.row_ids)
        for name in filter(receipt.splits.__contains__, SPLITS):
            counts = count(truth.rows[name], predictions, settings)
            yield from _compare(name, receipt.splits[name], counts, score(counts, settings))


def _verify_named(
    receipt: Receipt, submission: bytes, truth: SlowTruth, settings: NamedSettings
) -> Iterator[Recheck]:
    classes = set(settings.options.classes)

    def in_classes(text: str) -> str | tuple[str, ...] | None:
        names = classes_in(text) if settings.kind == "classes" else (text,)
        if not names or not classes.issuperset(names):
            return None
        return names if settings.kind == "classes" else text

    parse = finite_number if settings.predicted_kind == "number" else in_classes
    parsers = dict.fromkeys(settings.predictions, parse)
    columns = read_columns(submission, truth.row_ids, parsers)
    settings = settings.for_file(values.values() for values in columns.values())
    names = (*settings.targets, *settings.groups)
    for name in SPLITS:
        if split := receipt.splits.get(name):
            rows = truth.rows[name]
            predicted = {each: [values[row.row_id] for row in rows] for each, values in columns.items()}
            try:
                true = dict(zip(names, zip(*(row.values for row in rows), strict=True), strict=True))
                found = recount_groups(settings, true, predicted)
            except (ArithmeticError, LookupError, ValueError) as error:
                yield Recheck(f"{name} score as shown", split.shown, f"undefined ({error})")
            else:
                decimals = DECIMALS if receipt.decimals is None else receipt.decimals
                yield from _compare_named(name, split, found, settings, decimals)


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


def _compare_named(
    name: str, split: SplitReceipt, found: RecountedValue, settings: NamedSettings, decimals: int
) -> Iterator[Recheck]:
    if split.evidence is not None:
        yield from _compare_evidence(name, split.evidence, found.evidence, settings)
    if split.terms is not None:
        yield Recheck(f"{name} terms", sorted(split.terms), sorted(found.terms))
        for term, value in found.terms.items():
            leeway = settings.of_term(term).leeway(value)
            yield Recheck(f"{name} {term}", split.terms.get(term), value, leeway)
    if split.groups is not None:
        for column, groups in found.groups.items():
            stored = split.groups.get(column, {})
            yield Recheck(f"{name} groups of {column}", sorted(stored), sorted(groups))
            for group, (rows, value) in groups.items():
                each, of = stored.get(group, {}), f"of {column} = {group}"
                yield Recheck(f"{name} rows {of}", each.get("rows"), rows)
                yield Recheck(f"{name} score {of}", each.get("score"), value, settings.leeway(value))
    leeway = settings.leeway(found.score)
    if split.score is not None:
        yield Recheck(f"{name} score", split.score, found.score, leeway)
    # A score within the leeway may be displayed as a neighbouring value.
    is_possible = split.shown in {shown(found.score + each, decimals) for each in (leeway, -leeway)}
    expected = split.shown if is_possible else shown(found.score, decimals)
    yield Recheck(f"{name} score as shown", split.shown, expected)


def _compare_evidence(
    name: str, expected: Mapping[str, Any], found: Mapping[str, Any], settings: NamedSettings
) -> Iterator[Recheck]:
    for key, value in found.items():
        stored = expected.get(key)
        if isinstance(value, Mapping):
            yield from _compare_evidence(f"{name} {key}", stored or {}, value, settings.of_term(key))
        elif key == "sums":
            numbers = [_from_hexadecimal(each) for each in value]
            leeway = settings.leeway(max(map(abs, numbers)), found["rows"])
            for place, number in enumerate(numbers):
                one = _from_hexadecimal(stored[place]) if stored and place < len(stored) else None
                yield Recheck(f"{name} sum {place + 1}", one, number, leeway)
        else:
            yield Recheck(f"{name} {key}", stored, value)


def _from_hexadecimal(text: str) -> float:
    try:
        return float.fromhex(text)
    except (OverflowError, TypeError, ValueError):
        return math.nan


def shown(value: float | None, decimals: int = DECIMALS) -> str | None:
    """Format a score as on leaderboards, rounding half to even; huge ones have an exponent."""
    if value is None:
        return None
    exact = Decimal(value)
    if abs(exact).scaleb(decimals) >= _LARGEST_UNITS:
        return f"{Decimal(_LARGEST_UNITS).copy_sign(exact).scaleb(-decimals):.5e}"
    return f"{exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_EVEN) + 0:.{decimals}f}"
