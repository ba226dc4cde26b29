"""Query parameters of a leaderboard: split, search, sort column, page."""

from flask import request

from grader.models import Split
from grader.services.leaderboards.leaderboard import Asked
from grader.services.leaderboards.lines import Sort
from webapp.http.errors import BadRequest
from webapp.http.parameters import asked_page, asked_text


class UnknownSplit(BadRequest):
    """A leaderboard of neither split."""

    public_name = "unknown_split"
    message = "There is no split {name!r}. Use `public` or, after the reveal, `private`."


class UnknownColumn(BadRequest):
    """A leaderboard sorted by a column that it does not have."""

    public_name = "unknown_column"

    def __init__(self, name: str) -> None:
        columns = ", ".join(sort.value for sort in Sort)
        super().__init__(f"There is no column {name!r} to sort by. Columns: {columns}.")


class UnknownOrder(BadRequest):
    """An order that is neither of the two."""

    public_name = "unknown_order"
    message = "There is no order {name!r}. Use `asc` or `desc`."


def asked_split() -> Split:
    """Return the split that `?split=` names, by default the public one; raise UnknownSplit."""
    name = request.args.get("split", Split.PUBLIC.value)
    try:
        return Split(name)
    except ValueError:
        raise UnknownSplit(name=name) from None


def asked_lines(*, own_team_id: int | None) -> Asked:
    """Return what `page`, `sort`, `order` and `q` ask for; raise Unreadable, UnknownColumn, UnknownOrder."""
    return Asked(
        page=asked_page(),
        sort=_sort(request.args.get("sort", Sort.RANK.value)),
        descending=_is_descending(request.args.get("order", "")),
        search=asked_text("q"),
        own_team_id=own_team_id,
    )


def _sort(name: str) -> Sort:
    try:
        return Sort(name)
    except ValueError:
        raise UnknownColumn(name) from None


def _is_descending(name: str) -> bool | None:
    if name not in ("", "asc", "desc"):
        raise UnknownOrder(name=name)
    return name == "desc" if name else None
