"""Leaderboard requests: query parameters, and the requested leaderboard or submission."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from flask import request

from grader import db
from grader.models import Competition, Split
from grader.services.competitions import boards, lookup, phases
from grader.services.competitions.metric import term_names
from grader.services.competitions.settings_model import division_names
from grader.services.leaderboards import submission_results
from grader.services.leaderboards.board import Board, BoardRequest, Sort, board_of, lowest_best
from grader.services.leaderboards.submission_results import CountedEntry
from webapp.http import lookups
from webapp.http.errors import BadRequest
from webapp.http.parameters import asked_page, asked_text


class UnknownSplit(BadRequest):
    """A request for an unknown split."""

    public_name = "unknown_split"
    message = "There is no split {name!r}. Use `public` or, after the reveal, `private`."


class UnknownColumn(BadRequest):
    """A request to sort by an unknown column."""

    public_name = "unknown_column"

    def __init__(self, name: str, terms: Iterable[str]) -> None:
        columns = ", ".join(sortable(terms))
        super().__init__(f"There is no column {name!r}. Sort by one of these: {columns}.")


class UnknownOrder(BadRequest):
    """A request for an unknown sort order."""

    public_name = "unknown_order"
    message = "There is no order {name!r}. Use `asc` or `desc`."


def asked_split() -> Split:
    """Return the split in `?split=`, the public one by default; raise UnknownSplit."""
    name = request.args.get("split", Split.PUBLIC.value)
    try:
        return Split(name)
    except ValueError:
        raise UnknownSplit(name=name) from None


def asked_division(competition: Competition) -> str | None:
    """Return the division in `?division=`, None by default; raise UnknownDivision."""
    name = asked_text("division") or None
    lookup.require_division(name, division_names(competition.divisions))
    return name


def asked_lines(competition: Competition, *, own_team_id: int | None) -> BoardRequest:
    """Parse the parameters of a leaderboard.

    Raises Unreadable, UnknownColumn, UnknownOrder, UnknownDivision or Refusal.
    """
    version, key = competition.live_scoring_version, asked_text("board")
    rule = boards.find(boards.of(competition, version) if version else (), key)
    return BoardRequest(
        lowest_best=lowest_best(version, rule) if version else frozenset(),
        page=asked_page(),
        sort=_sort(request.args.get("sort", Sort.RANK.value), competition),
        descending=_is_descending(request.args.get("order", "")),
        search=asked_text("q"),
        own_team_id=own_team_id,
        division=asked_division(competition),
        board=key,
    )


def board(
    session: Any, competition: Competition, split: Split, wanted: BoardRequest, *, now: datetime
) -> Board:
    """Return a page of a leaderboard with the parts visible to the current user."""
    return board_of(
        session,
        competition=competition,
        split=split,
        phase=phases.phase(competition, now),
        viewer=lookups.viewer(),
        now=now,
        request=wanted,
        keep=lookups.keep(session, competition, now),
    )


def counted(session: Any, competition: Competition, submission_id: int) -> CountedEntry:
    """Return a team's counted submission, after the reveal."""
    return submission_results.get_counted(
        session,
        competition=competition,
        submission_id=submission_id,
        viewer=lookups.viewer(),
        phase=phases.phase(competition, db.now(session)),
    )


def sortable(terms: Iterable[str]) -> list[str]:
    """Return the names of the sortable columns, with those of the terms after the score."""
    names = [sort.value for sort in Sort]
    place = names.index(Sort.SCORE) + 1
    return [*names[:place], *terms, *names[place:]]


def _sort(name: str, competition: Competition) -> str:
    version = competition.live_scoring_version
    terms = term_names(version) if version else ()
    if name not in sortable(terms):
        raise UnknownColumn(name, terms)
    return name


def _is_descending(name: str) -> bool | None:
    if name not in ("", "asc", "desc"):
        raise UnknownOrder(name=name)
    return name == "desc" if name else None
