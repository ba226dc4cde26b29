"""Pages of long lists: how many there are, and which rows one of them holds."""

from dataclasses import dataclass


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
        """How many rows come before the page; never more than there are, whatever page is asked for."""
        return min((self.page - 1) * self.page_size, self.count)


def paging(count: int, *, page: int, page_size: int) -> Paging:
    """Return the page of a list; there is none before the first."""
    return Paging(max(1, page), page_size, count)
