"""Pages of the public and the private leaderboard, for a viewer who may see them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader import db
from grader.errors import ErrorKind, ParticipantError
from grader.models import STANDING_ORDER, Competition, ScoringVersion, Split, Standing
from grader.ranking.order import Entry
from grader.services.competitions import lookup, phases
from grader.services.leaderboards import lines as board_lines
from grader.services.leaderboards.lines import BoardRow, Sort
from grader.services.paging import PAGE_SIZE, Paging, paging
from grader.services.standings import shown_scores
from grader.services.standings.places import Standings
from grader.visibility import Field, Phase, Viewer, visible

EPOCH, MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
NOBODY, LAST = 0, 2**31 - 1  # a team and a submission that come after all others at a place


class NotRevealed(ParticipantError):
    """The private leaderboard is not public yet."""

    public_name = "not_revealed"
    kind = ErrorKind.FORBIDDEN
    message = "The private leaderboard is shown after the organizer has revealed it."


class NotSettled(ParticipantError):
    """The private standings are not computed yet."""

    public_name = "not_settled"
    kind = ErrorKind.FORBIDDEN
    message = (
        "The private standings are computed when the competition has closed and every file that was "
        "accepted in time has its result. Until the reveal they are organizers' alone."
    )


class HiddenColumn(ParticipantError):
    """A leaderboard cannot be sorted by a column that it does not show."""

    public_name = "hidden_column"
    message = (
        "The leaderboard cannot be sorted by {name!r}: this competition shows scores alone until the reveal."
    )


@dataclass(frozen=True, slots=True)
class Place:
    """A position in the order of a leaderboard that stays valid when teams enter before it."""

    score_units: int
    submitted_at: datetime

    def text(self) -> str:
        """Return the place as text for an address."""
        return f"{self.score_units}-{(self.submitted_at - EPOCH) // MICROSECOND}"

    @classmethod
    def of(cls, text: str) -> "Place":
        """Parse the output of `text`."""
        units, microseconds = text.split("-")
        return cls(int(units), EPOCH + int(microseconds) * MICROSECOND)


@dataclass(frozen=True, slots=True)
class Asked:
    """The rows of a leaderboard to return, and their order; ranks are always the true ones.

    `descending` None is the usual order of the column. The row of `own_team_id` is pinned if it is on another
    page. `after` continues after a place of the leaderboard in rank order.
    """

    page: int = 1
    page_size: int = PAGE_SIZE
    sort: Sort = Sort.RANK
    descending: bool | None = None
    search: str = ""
    own_team_id: int | None = None
    after: Place | None = None

    @property
    def is_descending(self) -> bool:
        """Whether the greatest value is first."""
        return self.sort.is_usually_descending if self.descending is None else self.descending

    @property
    def is_plain(self) -> bool:
        """Whether this is the complete leaderboard in rank order."""
        by_rank = (self.sort is Sort.RANK and not self.is_descending) or (
            self.sort is Sort.SCORE and self.is_descending
        )
        return by_rank and not self.search.strip()


@dataclass(frozen=True, slots=True)
class Board:
    """One page of a leaderboard and the facts about the whole.

    `rows` includes benchmarks, without a rank. `found_count` is the number of search results, of `team_count`
    teams. `pinned` is the viewer's row if it is not among the rows. `has_changes` is whether earlier ranks
    exist, `has_terms` whether the viewer sees the terms. `following` is the place after which the next page
    of the rank order begins, `leader_units` the shown score of the first team.
    """

    split: Split
    rows: tuple[BoardRow, ...]
    pinned: BoardRow | None
    page: int
    page_count: int
    team_count: int
    leader_units: int | None
    decimals: int
    found_count: int
    has_changes: bool
    has_terms: bool
    scoring_version: int
    row_share: float
    following: Place | None


def board_of(
    session: Session,
    *,
    competition: Competition,
    split: Split = Split.PUBLIC,
    phase: Phase | None = None,
    viewer: Viewer = Viewer.PUBLIC,
    now: datetime | None = None,
    asked: Asked | None = None,
) -> Board:
    """Return a page of a leaderboard, empty past the end; raise HiddenColumn, NotRevealed, NotSettled."""
    asked, now = asked or Asked(), now or db.now(session)
    phase = phase or phases.phase(competition, now)
    if split is Split.PRIVATE:
        require_private(competition, viewer=viewer, phase=phase)
    field = Field.PUBLIC_TERMS if split is Split.PUBLIC else Field.PRIVATE_TERMS
    has_terms = visible(field, viewer, phase, competition.feedback)
    if asked.sort.is_term and not has_terms:
        raise HiddenColumn(name=asked.sort.value)
    terms = board_lines.TERMS if has_terms else ()
    version = lookup.live(competition)
    standings = Standings(session, version.id, split)
    team_count, best = standings.count_and_best()
    unranked = board_lines.benchmark_rows(
        session, competition=competition, version=version, split=split, terms=terms
    )
    following = None
    if asked.is_plain:
        place = paging(team_count, page=asked.page, page_size=asked.page_size)
        if asked.after is not None:
            place = _from(standings, asked.after, asked.page_size, team_count)
        lines, following = _plain_page(session, version, split, place, unranked)
        found_count = team_count
    else:
        found = board_lines.sorted_lines(
            session,
            version=version,
            split=split,
            sort=asked.sort,
            descending=asked.is_descending,
            search=asked.search,
            benchmarks=unranked,
            now=now,
        )
        found_count = sum(not isinstance(line, BoardRow) for line in found)
        place = paging(len(found), page=asked.page, page_size=asked.page_size)
        lines = found[place.first : place.first + place.page_size]
    ranks = dict(line for line in lines if not isinstance(line, BoardRow))
    own = _own(standings, asked.own_team_id, ranks)
    decimals = shown_scores.decimals(competition, split)
    loaded = board_lines.load(
        session, version=version, split=split, ranks=ranks | own, terms=terms, now=now, decimals=decimals,
        has_errors=split is Split.PRIVATE or not competition.feedback.is_coarse,
    )  # fmt: skip
    solution = version.solution
    split_rows = solution.public_row_count if split is Split.PUBLIC else solution.private_row_count
    return Board(
        split=split,
        rows=tuple(line if isinstance(line, BoardRow) else loaded.rows[line[0]] for line in lines),
        pinned=next((loaded.rows[team_id] for team_id in own), None),
        page=place.page,
        page_count=place.page_count,
        team_count=team_count,
        leader_units=best,
        decimals=decimals,
        found_count=found_count,
        has_changes=loaded.has_changes,
        has_terms=has_terms,
        scoring_version=version.number,
        row_share=split_rows / (solution.public_row_count + solution.private_row_count),
        following=following,
    )


def require_private(competition: Competition, *, viewer: Viewer, phase: Phase) -> None:
    """Raise NotRevealed if the private standings are hidden from the viewer, NotSettled if there are none."""
    if not visible(Field.PRIVATE_RANK, viewer, phase, competition.feedback):
        raise NotRevealed
    if phase is not Phase.REVEALED and not phases.is_settled(competition):
        raise NotSettled


def _from(standings: Standings, after: Place, page_size: int, count: int) -> Paging:
    """Return the page that begins after a place."""
    start = standings.rank_of(Entry(NOBODY, LAST, after.score_units, after.submitted_at)) - 1
    return Paging(start // page_size + 1, page_size, count, start)


def _plain_page(
    session: Session,
    version: ScoringVersion,
    split: Split,
    asked: Paging,
    unranked: Sequence[board_lines.Placed],
) -> tuple[list[board_lines.Line], Place | None]:
    """Return a page directly from the table's index, with its benchmarks, and the place at its end."""
    found = session.execute(
        select(Standing.team_id, Standing.score_units, Standing.submitted_at)
        .where(Standing.scoring_version_id == version.id, Standing.split == split)
        .order_by(*STANDING_ORDER)
        .limit(asked.page_size)
        .offset(asked.first)
    ).all()
    lines: list[board_lines.Line] = []
    for place, (team_id, _, _) in enumerate(found, asked.first):
        lines += [each.row for each in unranked if each.place == place]
        lines.append((team_id, place + 1))
    end = asked.first + asked.page_size
    if end >= asked.count and (asked.first < asked.count or asked.page == 1):
        lines += [each.row for each in unranked if each.place >= asked.count]
    is_last = not found or end >= asked.count
    return lines, None if is_last else Place(found[-1].score_units, found[-1].submitted_at)


def _own(standings: Standings, team_id: int | None, shown: Mapping[int, int]) -> dict[int, int]:
    """Return the rank of the viewer's team unless it is on the page."""
    found = None if team_id is None or team_id in shown else standings.ranked_entry_of(team_id)
    return {} if found is None else {found[0].team_id: found[1]}
