"""Pages and slices of long lists."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from sqlalchemy import ColumnElement, Select
from sqlalchemy.orm import Session

PAGE_SIZE = 50
MOST_PER_PAGE = 200
Row = TypeVar("Row")
Shown = TypeVar("Shown")


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """The rows of a page, its number, and the number of rows in the whole list."""

    rows: tuple[Row, ...]
    page: int
    page_size: int
    count: int

    @property
    def page_count(self) -> int:
        """The number of pages, at least 1."""
        return max(1, -(-self.count // self.page_size))

    @property
    def first(self) -> int:
        """The offset of the page's first row."""
        return min((self.page - 1) * self.page_size, self.count)


@dataclass(frozen=True, slots=True)
class Slice(Generic[Row]):
    """Up to `size` rows of a list in descending order of a key.

    `following` is the key after which the next slice starts, or None at the end. If rows are added between
    two requests, no row is repeated or skipped.
    """

    rows: tuple[Row, ...]
    following: int | None
    size: int

    def with_rows(self, rows: Iterable[Shown]) -> "Slice[Shown]":
        """Return the same slice with other rows."""
        return Slice(tuple(rows), self.following, self.size)


@dataclass(frozen=True, slots=True)
class Part:
    """A request for a slice of `size` rows after a key; `after` is None for the first slice."""

    after: int | None = None
    size: int = PAGE_SIZE


FIRST = Part()


def page_of_list(rows: Sequence[Row], *, page: int, page_size: int) -> Page[Row]:
    """Return a page of a sequence; numbers below 1 mean the first page."""
    place: Page[Row] = Page((), max(1, page), page_size, len(rows))
    return replace(place, rows=tuple(rows[place.first : place.first + page_size]))


def slice_of_query(
    session: Session, query: Select[Row], *, key: ColumnElement[int], part: Part
) -> Slice[Row]:
    """Return a slice of a query, in descending order of a key."""
    if part.after is not None:
        query = query.where(key < part.after)
    sorted_query = query.order_by(None).order_by(key.desc()).limit(part.size + 1).add_columns(key)
    rows = list(session.execute(sorted_query))
    following = rows[part.size - 1][-1] if len(rows) > part.size else None
    return Slice(tuple(row[0] for row in rows[: part.size]), following, part.size)


def slice_of_list(rows: Sequence[Row], *, key: Callable[[Row], int], part: Part) -> Slice[Row]:
    """Return a slice of a sequence, in descending order of a key."""
    after, size = part.after, part.size
    falling = sorted(rows, key=key, reverse=True)
    left = [row for row in falling if after is None or key(row) < after]
    return Slice(tuple(left[:size]), key(left[size - 1]) if len(left) > size else None, size)
