"""Solution reader of the second implementation: labels, identities, Usage and digest."""

import csv
import hashlib
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from grader.receipts.reading import UnreadableFile, finite_number, shown, text_of
from grader.receipts.recount import RecountSettings, Row
from grader.receipts.recount_metrics import NamedSettings

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
        The rows of each split; for a metric other than that of bias, `TargetRow`.
    """

    digest: str
    commitment: str | None
    row_ids: frozenset[str]
    rows: dict[str, list[Any]]


class TargetRow(NamedTuple):
    """One row of a split with its id, targets and groups, in the order of the canonical form."""

    row_id: str
    values: tuple[Any, ...]


class _Column(NamedTuple):
    """A column of the canonical form: its name, its place in the file, and the reader of its values."""

    name: str
    place: int
    read: Callable[[str, int], Any]


def read_truth(
    data: bytes,
    settings: RecountSettings | NamedSettings,
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
    bare = [name.strip(_BLANKS) for name in header]
    if isinstance(settings, NamedSettings):
        id_place, usage_place, columns = _named_columns(bare, settings, label)
    else:
        id_place, usage_place, columns = _bias_columns(bare, label, identities)
        if unknown := set(settings.identities) - {each.name for each in columns[1:]}:
            first = next(name for name in settings.identities if name in unknown)
            raise UnreadableFile(f"The solution has no column {first!r}, which is an identity of the score.")
    names = [each.name for each in columns]
    scored = () if isinstance(settings, NamedSettings) else _scored(names, settings)
    lines: dict[str, str] = {}
    rows: dict[str, list[Any]] = {split: [] for split in SPLITS}
    # Many rows mention the same identities, so equal sets are stored only once.
    sets: dict[frozenset[str], frozenset[str]] = {}
    for number, record in records:
        if len(record) != len(header):
            raise UnreadableFile(
                f"Line {number:,} of the solution has {len(record)} fields; expected {len(header)}."
            )
        row_id = record[id_place].strip(_BLANKS)
        usage = _USAGES.get(record[usage_place].strip(_BLANKS).casefold())
        if not row_id or row_id in lines or usage is None:
            raise UnreadableFile(f"Line {number:,} of the solution has a blank or repeated id or no Usage.")
        values = tuple([read(record[place], number) for _, place, read in columns])
        if values[0] is None:
            raise UnreadableFile(f"Line {number:,} of the solution has no label.")
        lines[row_id] = ",".join([_quoted(row_id), *map(_text, values), usage])
        if usage == "Ignored":
            continue
        if isinstance(settings, NamedSettings):
            rows[usage.lower()].append(TargetRow(row_id, values))
        else:
            threshold = settings.identity_threshold
            named = frozenset(
                [
                    name
                    for name, place in scored
                    if (value := values[place]) is not None and value >= threshold
                ]
            )
            rows[usage.lower()].append(
                Row(row_id, values[0] >= settings.label_threshold, sets.setdefault(named, named))
            )
    return SlowTruth(
        _digest(b"", names, lines),
        None if nonce is None else _digest(nonce, names, lines),
        frozenset(lines),
        rows,
    )


def _scored(names: Sequence[str], settings: RecountSettings) -> tuple[tuple[str, int], ...]:
    """Return the identities in the score with their places after the label."""
    return tuple((name, names.index(name, 1)) for name in settings.identities)


def _records(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the non-blank records, each with the number of its last line."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for record in reader:
            if any(field.strip(_BLANKS) for field in record):
                yield reader.line_num, record
    except csv.Error as error:
        raise UnreadableFile(f"Line {reader.line_num:,} of the solution: {error}.") from error


_Layout = tuple[int, int, list[_Column]]  # the places of id and Usage, and the columns between them


def _bias_columns(header: list[str], label: str | None, identities: Sequence[str] | None) -> _Layout:
    names = sorted(set(header[2:-1]) if identities is None else identities)
    if header == ["id", "label", *names, "Usage"]:
        columns = [_Column(name, place, _value) for place, name in enumerate(header[:-1])]
        return 0, len(header) - 1, columns[1:]
    if label is None or identities is None:
        raise _other_format("id,label,…,Usage")
    id_place, usage, places = _places(header, (label, *identities))
    others = [_Column(name, places[name], _value) for name in sorted(identities)]
    return id_place, usage, [_Column("label", places[label], _value), *others]


def _named_columns(header: list[str], settings: NamedSettings, label: str | None) -> _Layout:
    names = [*settings.targets, *settings.groups]
    in_file = names.copy()
    if header != ["id", *names, "Usage"] and settings.targets == ("target",):
        if label is None:
            raise _other_format(",".join(["id", *names, "Usage"]))
        in_file[0] = label
    id_place, usage, places = _places(header, in_file)
    readers: list[Callable[[str, int], Any]]
    readers = [{"number": _number, "class": _filled, "classes": _classes}[settings.kind]] * len(
        settings.targets
    ) + [_bare] * len(settings.groups)
    columns = zip(names, map(places.__getitem__, in_file), readers, strict=True)
    return id_place, usage, [_Column(*each) for each in columns]


def _other_format(form: str) -> UnreadableFile:
    return UnreadableFile(
        f"This file is not in the format of the published solution ({form}), and the receipt "
        "does not contain the column names of other formats. Use the published solution."
    )


def _places(header: list[str], names: Sequence[str]) -> tuple[int, int, dict[str, int]]:
    usages = [name for name in header if name.casefold() == "usage"]
    usage = "Usage" if "Usage" in usages else usages[0] if len(usages) == 1 else "Usage"
    for name in ("id", *names, usage):
        if header.count(name) != 1:
            raise UnreadableFile(f"The solution has {header.count(name)} columns {name!r}; expected one.")
    return header.index("id"), header.index(usage), {name: header.index(name) for name in names}


def _number(text: str, number: int) -> float:
    value = finite_number(text.strip(_BLANKS))
    if value is None:
        raise UnreadableFile(f"Line {number:,} of the solution: {shown(text)} is not a finite number.")
    return value


def _bare(text: str, _number: int) -> str:
    return text.strip(_BLANKS)


def _filled(text: str, number: int) -> str:
    if bare := text.strip(_BLANKS):
        return bare
    raise UnreadableFile(f"Line {number:,} of the solution has a blank target.")


def _classes(text: str, number: int) -> tuple[str, ...]:
    return classes_in(_filled(text, number))


def classes_in(text: str) -> tuple[str, ...]:
    """Return the classes in a list that is separated by ASCII whitespace."""
    return tuple(each.decode() for each in text.encode().split())


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
def _text(value: float | str | tuple[str, ...] | None) -> str:
    if isinstance(value, float):
        return repr(value + 0.0)  # The sum converts -0.0 to 0.0.
    return _quoted(value if isinstance(value, str) else " ".join(value or ()))


def _quoted(text: str) -> str:
    return f'"{text.replace(chr(34), chr(34) * 2)}"' if set(text) & set(',"\r\n') else text


def _digest(nonce: bytes, names: list[str], lines: dict[str, str]) -> str:
    digest = hashlib.sha256(nonce)
    digest.update((",".join(map(_quoted, ["id", *names, "Usage"])) + "\n").encode())
    for row_id in sorted(lines):
        digest.update(f"{lines[row_id]}\n".encode())
    return digest.hexdigest()
