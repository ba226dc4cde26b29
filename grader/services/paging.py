"""Pages of long lists: how many there are, and which rows one of them holds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

Row = TypeVar("Row")
Shown = TypeVar("Shown")


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """The rows of one page, its number, and how many pages and rows the whole list has."""

    rows: tuple[Row, ...]
    page: int
    page_count: int
    count: int

    def with_rows(self, rows: Iterable[Shown]) -> "Page[Shown]":
        """Return the same page with something else to show in each row."""
        return Page(tuple(rows), self.page, self.page_count, self.count)


@dataclass(frozen=True, slots=True)
class Paging:
    """A page of a list of `count` rows; past the end it is empty, so that a loop over pages ends."""

    page: int
    page_size: int
    count: int

    @property
    def page_count(self) -> int:
        """How many pages there are; a list without rows has one."""
        return max(1, -(-self.count // self.page_size))

    @property
    def first(self) -> int:
        """How many rows come before the page, at most the number of rows."""
        return min((self.page - 1) * self.page_size, self.count)

    def of(self, rows: Iterable[Row]) -> Page[Row]:
        """Return the page with its rows."""
        return Page(tuple(rows), self.page, self.page_count, self.count)


def paging(count: int, *, page: int, page_size: int) -> Paging:
    """Return the page of a list; there is none before the first."""
    return Paging(max(1, page), page_size, count)


def page_of_list(rows: Sequence[Row], *, page: int, page_size: int) -> Page[Row]:
    """Return a page of rows that are all at hand."""
    place = paging(len(rows), page=page, page_size=page_size)
    return place.of(rows[place.first : place.first + page_size])


def page_of_query(session: Session, query: Select[Row], *, page: int, page_size: int) -> Page[Row]:
    """Return a page of the objects that a sorted query finds."""
    count = session.scalar(select(func.count()).select_from(query.order_by(None).subquery())) or 0
    place = paging(count, page=page, page_size=page_size)
    return place.of(session.scalars(query.limit(page_size).offset(place.first)))
