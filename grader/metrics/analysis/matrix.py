"""Matrix type: one value for each identity and label, or why there is none."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


class MatrixCell(NamedTuple):
    """A cell that has a value."""

    identity: str
    label: str
    value: float


@dataclass(frozen=True, slots=True)
class Matrix:
    """Identities x labels, as the heatmaps of Hann, Kalil and Payne.

    Attributes
    ----------
    measure : str
        What the values are, such as ``"bpsn_auc"``.
    identities, labels : tuple of str
        Its lines and its columns.
    values : tuple of tuple of float or None
        One tuple for each identity; None is undefined.
    reasons : mapping of (str, str) to str
        For each undefined cell, by identity and label, a clause that says why.
    """

    measure: str
    identities: tuple[str, ...]
    labels: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    reasons: Mapping[tuple[str, str], str]

    @classmethod
    def of(
        cls,
        measure: str,
        identities: Iterable[str],
        labels: Iterable[str],
        value_or_reason: Callable[[str, str], float | str],
    ) -> "Matrix":
        """Ask for every cell, by identity and label; a text is the reason why there is no value."""
        lines, columns = tuple(identities), tuple(labels)
        found = {(line, column): value_or_reason(line, column) for line in lines for column in columns}
        values = {place: None if isinstance(value, str) else value for place, value in found.items()}
        return cls(
            measure,
            lines,
            columns,
            tuple(tuple(values[line, column] for column in columns) for line in lines),
            {place: value for place, value in found.items() if isinstance(value, str)},
        )

    def value(self, identity: str, label: str) -> float | None:
        """Return the value of a cell; None is undefined."""
        return self.values[self.identities.index(identity)][self.labels.index(label)]

    def defined(self) -> list[MatrixCell]:
        """Return the cells that have a value, line by line."""
        return [
            MatrixCell(identity, label, value)
            for identity, line in zip(self.identities, self.values, strict=True)
            for label, value in zip(self.labels, line, strict=True)
            if value is not None
        ]

    def lowest(self, k: int) -> list[MatrixCell]:
        """Return the k cells with the lowest values, the lowest first; equal ones in their order."""
        return sorted(self.defined(), key=lambda cell: cell.value)[:k]

    def highest(self, k: int) -> list[MatrixCell]:
        """Return the k cells with the highest values, the highest first; equal ones in their order."""
        return sorted(self.defined(), key=lambda cell: -cell.value)[:k]

    def furthest(self, k: int) -> list[MatrixCell]:
        """Return the k cells furthest from 0, the furthest first; equal ones in their order."""
        return sorted(self.defined(), key=lambda cell: -abs(cell.value))[:k]

    def share_within(self, limit: float) -> float | None:
        """Return the share of the values with an absolute value below a limit; None without a value."""
        cells = self.defined()
        return sum(abs(cell.value) < limit for cell in cells) / len(cells) if cells else None

    def minus(self, other: "Matrix") -> "Matrix":
        """Return the differences from another matrix, for the identities and labels that both have."""

        def difference(identity: str, label: str) -> float | str:
            first, second = self.value(identity, label), other.value(identity, label)
            if first is None:
                return self.reasons[identity, label]
            return other.reasons[identity, label] if second is None else first - second

        return Matrix.of(
            self.measure,
            [name for name in self.identities if name in other.identities],
            [name for name in self.labels if name in other.labels],
            difference,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return {
            "measure": self.measure,
            "identities": list(self.identities),
            "labels": list(self.labels),
            "values": [list(line) for line in self.values],
            "undefined": [
                {"identity": identity, "label": label, "reason": reason}
                for (identity, label), reason in self.reasons.items()
            ],
        }

    def __str__(self) -> str:
        width = max([len("identity"), *map(len, self.identities)])
        widths = [max(len(label), 8) + 2 for label in self.labels]
        table = [("identity", self.labels)] + [
            (identity, tuple("-" if value is None else f"{value:.3f}" for value in values))
            for identity, values in zip(self.identities, self.values, strict=True)
        ]
        return "\n".join(
            f"{name:<{width}}" + "".join(f"{text:>{w}}" for text, w in zip(texts, widths, strict=True))
            for name, texts in table
        )
