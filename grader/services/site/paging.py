"""Pages and slices of long lists."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from sqlalchemy import ColumnElement, Select
from sqlalchemy.orm import Session

PAGE_SIZE = 50
MOST_PER_PAGE = 200
Row = TypeVar("Row")
Shown = TypeVar("Shown")


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """The rows of a page, its number, and the numbers of pages and rows in the whole list."""

    rows: tuple[Row, ...]
    page: int
    page_count: int
    count: int

    def with_rows(self, rows: Iterable[Shown]) -> "Page[Shown]":
        """Return the same page with other rows."""
        return Page(tuple(rows), self.page, self.page_count, self.count)


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


@dataclass(frozen=True, slots=True)
class Paging:
    """The position of a page in a list of `count` rows; `start` overrides the offset of its first row."""

    page: int
    page_size: int
    count: int
    start: int | None = None

    @property
    def page_count(self) -> int:
        """The number of pages, at least 1."""
        return max(1, -(-self.count // self.page_size))

    @property
    def first(self) -> int:
        """The offset of the page's first row."""
        start = (self.page - 1) * self.page_size if self.start is None else self.start
        return min(start, self.count)

    def of(self, rows: Iterable[Row]) -> Page[Row]:
        """Return the page with its rows."""
        return Page(tuple(rows), self.page, self.page_count, self.count)


def paging(count: int, *, page: int, page_size: int) -> Paging:
    """Return the position of a page; numbers below 1 mean the first page."""
    return Paging(max(1, page), page_size, count)


def page_of_list(rows: Sequence[Row], *, page: int, page_size: int) -> Page[Row]:
    """Return a page of a sequence."""
    place = paging(len(rows), page=page, page_size=page_size)
    return place.of(rows[place.first : place.first + page_size])


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
