"""Findings of a data file's leak check, as sentences and as the text that confirms a release."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from grader.disclosure import Examined, Kind
from grader.disclosure.examination import ORDER, PRESENCE
from grader.models import DataFile

SHOWN_NAMES = 3
NO_LABELS = "it holds no labels"
# A file of these names in the folder of a script is imported in place of the package.
IMPORTED = sys.stdlib_module_names | {
    "sitecustomize", "usercustomize", "numpy", "pandas", "scipy", "sklearn", "torch", "tensorflow", "keras",
    "transformers", "datasets", "matplotlib", "lightgbm", "xgboost", "catboost", "polars", "pyarrow", "tqdm",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """What a check found in a file, as an organizer reads it.

    `discloses` has a sentence for each column that gives something away, `unopened` for each part that could
    not be looked at, and `phrase` is what is typed to give the file out all the same. `warnings` hold nothing
    back.
    """

    discloses: tuple[str, ...]
    unopened: tuple[str, ...]
    phrase: str
    consequence: str
    warnings: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """Everything that an organizer should read."""
        return self.warnings + self.discloses + self.unopened


def found_in(file: DataFile) -> Found:
    """Return what a file's check found."""
    findings = file.findings
    discloses = tuple(
        f"{_place(each)} agrees with {_kind(each)} {_names(each['names'])} ({each['rows']:,} rows)"
        for each in sorted(findings.get("disclosures", ()), key=_is_identity)  # few labels, many identities
    )
    unopened = tuple(
        f"{each['name'] or file.name} was not checked: {each['reason']}"
        for each in findings.get("unopened", ())
    )
    left = findings.get("unopened_count", 0) - len(unopened)
    if left > 0:
        unopened = (*unopened, f"{left:,} more parts were not checked")
    return Found(discloses, unopened, _phrase(findings), _consequence(file), _name_warnings(file.name))


def _name_warnings(name: str) -> tuple[str, ...]:
    stem = name.partition(".")[0]
    if not name.endswith((".py", ".pyc", ".so", ".pyd", ".pth")) or stem not in IMPORTED:
        return ()
    return (
        f"Python imports {name} instead of the package {stem!r} in the folder that holds it. Rename the file",
    )


def stored(examined: Examined, sha256: str) -> dict[str, Any]:
    return {
        "sha256": sha256,
        "disclosures": [asdict(each) | {"names": list(each.names)} for each in examined.disclosures],
        "unopened": [asdict(each) for each in examined.unopened],
        "unopened_count": examined.unopened_count,
        "tables": examined.tables,
        "rows": examined.rows,
        "preview": examined.preview,
    }


def preview_of(file: DataFile) -> Mapping[str, Any] | None:
    """Return the first rows and column statistics of a file, for people who may download it."""
    return file.findings.get("preview") if file.findings.get("sha256") == file.sha256 else None


def covered(findings: Mapping[str, Any]) -> set[str]:
    """Return what giving a file out would make public, or what nobody has looked at."""
    disclosed = {
        f"{each['kind']}: {name}" for each in findings.get("disclosures", ()) for name in each["names"]
    }
    return disclosed | ({"unopened"} if findings.get("unopened_count") else set())


def _phrase(findings: Mapping[str, Any]) -> str:
    """Return what an organizer types: what becomes public, or that nothing is in what was not opened."""
    names: dict[str, list[str]] = {kind.value: [] for kind in Kind}
    for each in findings.get("disclosures", ()):
        names[each["kind"]] += [name for name in each["names"] if name not in names[each["kind"]]]
    parts = [*names[Kind.LABEL]]
    identities = names[Kind.IDENTITY]
    parts += identities if len(identities) <= SHOWN_NAMES else [f"{len(identities)} identities"]
    parts += names[Kind.USAGE]
    if not parts:
        return NO_LABELS
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"publish {listed}"


def _consequence(file: DataFile) -> str:
    kinds = {each["kind"] for each in file.findings.get("disclosures", ())}
    told = {
        Kind.LABEL: "the labels: anyone who submits them gets a perfect score",
        Kind.IDENTITY: "which rows mention the identities: models can be fitted to them",
        Kind.USAGE: "which rows decide the final standings",
    }
    public = [words for kind, words in told.items() if kind.value in kinds]
    if file.findings.get("unopened_count"):
        public.append("everything in the parts that were not checked")
    return "; ".join(public)


def _place(disclosure: Mapping[str, Any]) -> str:
    within = f" of {disclosure['table']}" if disclosure["table"] else ""
    from_rows = disclosure["column"] in (ORDER, PRESENCE)
    return (
        f"{disclosure['column'][0].upper()}{disclosure['column'][1:]}{within}"
        if from_rows
        else (f"Column {disclosure['column']!r}{within}")
    )


def _is_identity(disclosure: Mapping[str, Any]) -> bool:
    return Kind(disclosure["kind"]) is Kind.IDENTITY


def _kind(disclosure: Mapping[str, Any]) -> str:
    words = {Kind.LABEL: "the label", Kind.IDENTITY: "the identity", Kind.USAGE: "the column"}
    return words[Kind(disclosure["kind"])]


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return ", ".join(names[:SHOWN_NAMES]) + more
