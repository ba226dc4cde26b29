"""Base class of results that consist of plain values."""

from typing import Any


class Flat:
    """A slotted dataclass of plain values; `DERIVED` names the properties that its data includes."""

    __slots__: tuple[str, ...] = ()
    DERIVED: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return {name: getattr(self, name) for name in (*self.__slots__, *self.DERIVED)}
