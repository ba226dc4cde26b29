"""Solution reader of the second implementation: labels, identities, Usage and digest."""

import csv
import hashlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from grader.receipts.reading import UnreadableFile, finite_number, shown, text_of
from grader.receipts.recount import RecountSettings, Row

SPLITS = ("public", "private")
DISTINCT = 1 << 16  # A solution has many cells but few distinct values.
_BLANKS = " \t"
_USAGES = {"public": "Public", "private": "Private", "ignored": "Ignored"}


@dataclass(frozen=True, slots=True)
class SlowTruth:
    """A solution as parsed by the second implementation.

    Attributes
    ----------
    digest : str
        SHA-256 of the canonical form described in docs/scoring.md.
    commitment : str or None
        SHA-256 of the nonce followed by the canonical form; None if there is no nonce.
    row_ids : frozenset of str
        The ids that a submission must contain, including those of ignored rows.
    rows : dict of str to list of Row
        The rows of each split.
    """

    digest: str
    commitment: str | None
    row_ids: frozenset[str]
    rows: dict[str, list[Row]]


@dataclass(frozen=True, slots=True)
class _TruthColumns:
    """The column indices of a solution; `identities` maps the names of all identities to columns."""

    id: int
    label: int
    usage: int
    identities: dict[str, int]


def read_truth(
    data: bytes,
    settings: RecountSettings,
    *,
    label: str | None = None,
    identities: Sequence[str] | None = None,
    nonce: bytes | None = None,
) -> SlowTruth:
    """Read a solution; raise UnreadableFile for the first error.

    The header of a canonical file determines its columns. For the organizer's file, `label` and `identities`
    are the columns from which the digest was computed. Both kinds of files require a Usage column.
    """
    records = _records(text_of(data))
    _, header = next(records, (1, []))
    columns = _columns([name.strip(_BLANKS) for name in header], label, identities)
    if unknown := [name for name in settings.identities if name not in columns.identities]:
        raise UnreadableFile(f"The solution has no column {unknown[0]!r}, which is an identity of the score.")
    names = sorted(columns.identities)
    lines: dict[str, str] = {}
    rows: dict[str, list[Row]] = {split: [] for split in SPLITS}
    # Many rows mention the same identities, so equal sets are stored only once.
    sets: dict[frozenset[str], frozenset[str]] = {}
    for number, record in records:
        if len(record) != len(header):
            raise UnreadableFile(
                f"Line {number:,} of the solution has {len(record)} fields; expected {len(header)}."
            )
        row_id = record[columns.id].strip(_BLANKS)
        usage = _USAGES.get(record[columns.usage].strip(_BLANKS).casefold())
        if not row_id or row_id in lines or usage is None:
            raise UnreadableFile(f"Line {number:,} of the solution has a blank or repeated id or no Usage.")
        value = _value(record[columns.label], number)
        mentions = {name: _value(record[columns.identities[name]], number) for name in names}
        if value is None:
            raise UnreadableFile(f"Line {number:,} of the solution has no label.")
        lines[row_id] = ",".join([_quoted(row_id), _text(value), *map(_text, mentions.values()), usage])
        if usage != "Ignored":
            named = _named(mentions, settings)
            rows[usage.lower()].append(
                Row(row_id, value >= settings.label_threshold, sets.setdefault(named, named))
            )
    return SlowTruth(
        _digest(b"", names, lines),
        None if nonce is None else _digest(nonce, names, lines),
        frozenset(lines),
        rows,
    )


def _named(mentions: dict[str, float | None], settings: RecountSettings) -> frozenset[str]:
    return frozenset(
        [
            name
            for name in settings.identities
            if (value := mentions[name]) is not None and value >= settings.identity_threshold
        ]
    )


def _records(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the non-blank records, each with the number of its last line."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for record in reader:
            if any(field.strip(_BLANKS) for field in record):
                yield reader.line_num, record
    except csv.Error as error:
        raise UnreadableFile(f"Line {reader.line_num:,} of the solution: {error}.") from error


def _columns(header: list[str], label: str | None, identities: Sequence[str] | None) -> _TruthColumns:
    if header[:2] == ["id", "label"] and header[-1] == "Usage" and header[2:-1] == sorted(set(header[2:-1])):
        names = dict(zip(header[2:-1], range(2, len(header) - 1), strict=True))
        if identities is None or sorted(identities) == list(names):
            return _TruthColumns(0, 1, len(header) - 1, names)
    if label is None or identities is None:
        raise UnreadableFile(
            "This file is not in the format of the published solution (id,label,…,Usage), and the receipt "
            "does not contain the column names of other formats. Use the published solution."
        )
    usages = [name for name in header if name.casefold() == "usage"]
    usage = "Usage" if "Usage" in usages else usages[0] if len(usages) == 1 else "Usage"
    for name in ("id", label, *identities, usage):
        if header.count(name) != 1:
            raise UnreadableFile(f"The solution has {header.count(name)} columns {name!r}; expected one.")
    return _TruthColumns(
        header.index("id"),
        header.index(label),
        header.index(usage),
        {name: header.index(name) for name in identities},
    )


def _value(text: str, number: int) -> float | None:
    try:
        return _share(text)
    except ValueError:
        bare = text.strip(_BLANKS)
        raise UnreadableFile(
            f"Line {number:,} of the solution: {shown(bare)} is not a number from 0 to 1."
        ) from None


@lru_cache(DISTINCT)
def _share(text: str) -> float | None:
    bare = text.strip(_BLANKS)
    if not bare:
        return None
    value = finite_number(bare)
    if value is None or not 0 <= value <= 1:
        raise ValueError(text)
    return value


@lru_cache(DISTINCT)
def _text(value: float | None) -> str:
    if value is None:
        return ""
    return repr(abs(value))  # `abs` converts -0.0 to 0.0.


def _quoted(text: str) -> str:
    return f'"{text.replace(chr(34), chr(34) * 2)}"' if set(text) & set(',"\r\n') else text


def _digest(nonce: bytes, names: list[str], lines: dict[str, str]) -> str:
    digest = hashlib.sha256(nonce)
    digest.update((",".join(map(_quoted, ["id", "label", *names, "Usage"])) + "\n").encode())
    for row_id in sorted(lines):
        digest.update(f"{lines[row_id]}\n".encode())
    return digest.hexdigest()
