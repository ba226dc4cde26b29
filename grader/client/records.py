"""Typed API records: competitions, submissions, leaderboards, teams."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from grader.text import not_installed

if TYPE_CHECKING:
    import pandas as pd

Json = Mapping[str, Any]
FINAL = frozenset({"scored", "rejected", "failed"})


@dataclass(frozen=True, kw_only=True)
class ApiRecord:
    """An object of the API.

    Attributes
    ----------
    data : mapping
        The complete object as sent by the server; newer servers may send additional fields.
    """

    data: Json = field(repr=False)

    @classmethod
    def of(cls, data: Json) -> Self:
        """Return an object as a record; missing attributes are None."""
        values = {
            each.name: _typed(data.get(each.name), each.type) for each in fields(cls) if each.name != "data"
        }
        return cls(data=data, **values)


@dataclass(frozen=True, kw_only=True)
class Limits(ApiRecord):
    """A team's remaining submissions; None means unlimited."""

    left: int | None
    left_today: int | None
    left_total: int | None
    max_daily: int | None
    max_total: int | None
    pending: int
    resets_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class Competition(ApiRecord):
    """A competition; in a list, only the first five attributes are set, and the others are None."""

    slug: str
    title: str
    phase: str
    opens_at: datetime | None
    closes_at: datetime | None
    rows: int
    must_join: bool | None
    entry_mode: str | None
    rules: str | None
    rules_version: int | None
    metric: Json | None

    @property
    def is_open(self) -> bool:
        """Whether the competition currently accepts files according to its dates."""
        return self.phase == "open"


@dataclass(frozen=True, kw_only=True)
class DataFile(ApiRecord):
    """A file for download."""

    name: str
    size_bytes: int | None
    sha256: str | None


@dataclass(frozen=True, kw_only=True)
class Check(ApiRecord):
    """The result of checking a file; a check does not count as a submission."""

    is_clean: bool
    problems: Sequence[Json]
    notes: Sequence[Json]
    limits: Limits


@dataclass(frozen=True, kw_only=True)
class Submission(ApiRecord):
    """A submission, with everything that the token's owner may currently see.

    Attributes
    ----------
    status : str
        ``pending``, ``scored``, ``rejected`` or ``failed``.
    terms : mapping, optional
        The terms of the public score, by name; None if the competition does not show them.
    weakest_term : str, optional
        The term with the highest cost.
    identities : sequence of mappings, optional
        The AUCs of each identity on the public rows; only the bias metric has them.
    groups : sequence of mappings, optional
        The tables of groups on the public rows, one for each group column, if the metric has groups.
    problems, notes : sequences of mappings
        The problems of the file, and remarks about it.
    limits : Limits, optional
        The team's remaining submissions; only set directly after an upload.
    """

    id: int
    status: str
    competition: str | None
    kind: str | None
    file_name: str | None
    description: str | None
    submitted_at: datetime | None
    finished_at: datetime | None
    is_selected: bool | None
    public_score: float | None
    terms: Mapping[str, float] | None
    weakest_term: str | None
    identities: Sequence[Json] | None
    groups: Sequence[Json] | None
    private_score: float | None
    private_terms: Mapping[str, float] | None
    private_identities: Sequence[Json] | None
    private_groups: Sequence[Json] | None
    problems: Sequence[Json] | None
    notes: Sequence[Json] | None
    incident: str | None
    limits: Limits | None

    @property
    def is_final(self) -> bool:
        """Whether the status is scored, rejected or failed."""
        return self.status in FINAL

    def to_frame(self) -> "pd.DataFrame":
        """Return a table with one row per identity or group, including private values after the reveal."""
        tables = (("public", self.identities), ("private", self.private_identities))
        rows = [{"split": split, **each} for split, table in tables for each in table or ()]
        for split, groups in (("public", self.groups), ("private", self.private_groups)):
            for table in groups or ():
                rows += [{"split": split, "column": table["column"], **each} for each in table["groups"]]
        return _frame(rows)


@dataclass(frozen=True, kw_only=True)
class Submissions(ApiRecord):
    """The submissions of your team, newest first.

    Attributes
    ----------
    selection : mapping, optional
        The submissions that would count on the private leaderboard, with the reasons.
    """

    submissions: Sequence[Submission]
    selection: Json | None
    limits: Limits

    def to_frame(self) -> "pd.DataFrame":
        """Return a table with one row for each submission."""
        return _frame([each.data for each in self.submissions])


@dataclass(frozen=True, kw_only=True)
class BoardRow(ApiRecord):
    """A row of a leaderboard; a benchmark has no rank."""

    rank: int | None
    team: str
    members: Sequence[str]
    is_benchmark: bool
    score: float
    terms: Mapping[str, float] | None
    entries: int
    last_submitted_at: datetime | None
    rank_change: int | None
    worst_group: Json | None
    alias: str | None


@dataclass(frozen=True, kw_only=True)
class Leaderboard(ApiRecord):
    """A leaderboard, or its first rows.

    Attributes
    ----------
    own : BoardRow, optional
        The row of your team if it is not on the first page.
    """

    split: str
    scoring_version: int
    team_count: int
    rows: Sequence[BoardRow]
    own: BoardRow | None

    def to_frame(self) -> "pd.DataFrame":
        """Return a table of the rows, with a column for each term."""
        rows = [{**each.data, **(each.terms or {})} for each in self.rows]
        return _frame([{name: cell for name, cell in row.items() if name != "terms"} for row in rows])


@dataclass(frozen=True, kw_only=True)
class Team(ApiRecord):
    """Your team in a competition; other teams see its alias instead of the name, if it has one."""

    name: str
    alias: str | None
    leader: str | None
    is_leader: bool
    members: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Membership(ApiRecord):
    """Your entry, team, remaining submissions and selection in a competition.

    Attributes
    ----------
    entry : str
        ``joined``, ``waiting`` for an organizer, or the reason why you cannot join.
    team : Team, optional
        None before the first upload.
    """

    entry: str
    accepted_rules_version: int | None
    team: Team | None
    limits: Limits
    selection: Json | None


def _typed(value: Any, kind: Any) -> Any:
    """Return a JSON value converted to the type of its attribute."""
    if value is None:
        return None
    for record in (Limits, Team, BoardRow):
        if kind in (record, record | None):
            return record.of(value)
        if kind == Sequence[record]:  # type: ignore[valid-type]
            return tuple(record.of(each) for each in value)
    if kind == Sequence[Submission]:
        return tuple(Submission.of(each) for each in value)
    return datetime.fromisoformat(value) if kind == datetime | None else value


def _frame(rows: Sequence[Json]) -> "pd.DataFrame":
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(not_installed("pandas", "`to_frame`", "client"), name="pandas") from error

    frame = pd.DataFrame(list(rows))
    for name in frame.columns:
        if name.endswith("_at"):
            frame[name] = pd.to_datetime(frame[name], utc=True, format="ISO8601")
    return frame
