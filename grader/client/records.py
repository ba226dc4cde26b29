"""Typed records of the API: competitions, submissions, leaderboards, teams."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import pandas as pd

Json = Mapping[str, Any]
FINAL = frozenset({"scored", "rejected", "failed"})


@dataclass(frozen=True, kw_only=True)
class Record:
    """An object of the API.

    Attributes
    ----------
    data : mapping
        All of it, as the server sent it; newer servers may send more than the attributes.
    """

    data: Json = field(repr=False)

    @classmethod
    def of(cls, data: Json) -> Self:
        """Return the record of an object; what the object lacks is None."""
        values = {
            each.name: _typed(data.get(each.name), each.type) for each in fields(cls) if each.name != "data"
        }
        return cls(data=data, **values)


@dataclass(frozen=True, kw_only=True)
class Limits(Record):
    """What a team may still send; None where nothing limits it."""

    left: int | None
    left_today: int | None
    left_total: int | None
    max_daily: int | None
    max_total: int | None
    pending: int
    resets_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class Competition(Record):
    """A competition; a list has the first five alone, and None for the others."""

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
        """Whether it takes files now, as far as its dates say."""
        return self.phase == "open"


@dataclass(frozen=True, kw_only=True)
class DataFile(Record):
    """A file for download."""

    name: str
    size_bytes: int | None
    sha256: str | None


@dataclass(frozen=True, kw_only=True)
class Check(Record):
    """What a check found in a file; it used no submission."""

    is_clean: bool
    problems: Sequence[Json]
    notes: Sequence[Json]
    limits: Limits


@dataclass(frozen=True, kw_only=True)
class Submission(Record):
    """A submission, as far as the owner of the token may see it now.

    Attributes
    ----------
    status : str
        ``pending``, ``scored``, ``rejected`` or ``failed``.
    terms : mapping, optional
        The four terms of the public score, by name; None where the competition withholds them.
    weakest_term : str, optional
        The term that costs the score most.
    identities : sequence of mappings, optional
        The AUCs of each identity on the public rows.
    problems, notes : sequences of mappings
        What is wrong with the file, and what is worth a remark.
    limits : Limits, optional
        What the team may still send; only right after sending a file.
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
    private_score: float | None
    private_terms: Mapping[str, float] | None
    private_identities: Sequence[Json] | None
    problems: Sequence[Json] | None
    notes: Sequence[Json] | None
    incident: str | None
    limits: Limits | None

    @property
    def is_final(self) -> bool:
        """Whether it is scored, rejected or failed."""
        return self.status in FINAL

    def to_frame(self) -> "pd.DataFrame":
        """Return the table of its identities, one row each; the private AUCs too once they are revealed."""
        import pandas as pd

        tables = [
            pd.DataFrame({"split": split, **each} for each in table)
            for split, table in (("public", self.identities), ("private", self.private_identities))
            if table
        ]
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


@dataclass(frozen=True, kw_only=True)
class Submissions(Record):
    """The submissions of one's team, the newest first.

    Attributes
    ----------
    selection : mapping, optional
        Which of them would count on the private leaderboard, and why.
    """

    submissions: Sequence[Submission]
    selection: Json | None
    limits: Limits

    def to_frame(self) -> "pd.DataFrame":
        """Return one row for each submission."""
        return _frame([each.data for each in self.submissions])


@dataclass(frozen=True, kw_only=True)
class BoardRow(Record):
    """A line of a leaderboard; a benchmark has no rank."""

    rank: int | None
    team: str
    members: Sequence[str]
    is_benchmark: bool
    score: float
    terms: Mapping[str, float] | None
    entries: int
    last_submitted_at: datetime | None
    rank_change: int | None


@dataclass(frozen=True, kw_only=True)
class Leaderboard(Record):
    """A leaderboard, or its first rows.

    Attributes
    ----------
    own : BoardRow, optional
        The row of one's own team where it is not among the first of the server's pages.
    """

    split: str
    scoring_version: int
    team_count: int
    rows: Sequence[BoardRow]
    own: BoardRow | None

    def to_frame(self) -> "pd.DataFrame":
        """Return one row for each line, with a column for each term."""
        rows = [{**each.data, **(each.terms or {})} for each in self.rows]
        return _frame([{name: cell for name, cell in row.items() if name != "terms"} for row in rows])


@dataclass(frozen=True, kw_only=True)
class Team(Record):
    """One's own team in a competition."""

    name: str
    leader: str | None
    is_leader: bool
    members: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Membership(Record):
    """One's entry, team, submissions left and selection in a competition.

    Attributes
    ----------
    entry : str
        ``joined``, ``waiting`` for an organizer, or what keeps one from it.
    team : Team, optional
        None before the first upload.
    """

    entry: str
    accepted_rules_version: int | None
    team: Team | None
    limits: Limits
    selection: Json | None


def _typed(value: Any, kind: Any) -> Any:
    """Return a value of JSON as the type of its attribute."""
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
    import pandas as pd

    frame = pd.DataFrame(list(rows))
    for name in frame.columns:
        if name.endswith("_at"):
            frame[name] = pd.to_datetime(frame[name], utc=True, format="ISO8601")
    return frame
