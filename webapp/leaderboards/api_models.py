"""API models for leaderboards and competing submissions."""

from typing import Annotated, Any, Literal
from unicodedata import normalize

from pydantic import Field

from grader.models import MAIN_BOARD, Split
from grader.services.leaderboards.board import Board, BoardRequest, ShownRow, Sort, sortable
from grader.services.leaderboards.group_tables import GroupTable, WorstGroup
from grader.services.leaderboards.submission_results import CountedEntry
from grader.services.leaderboards.team_results import ResultLine
from grader.services.site.paging import PAGE_SIZE
from webapp.http.fields import Answer, Moment, Number, PageSize, Score, Sized, Text
from webapp.presentation.terms import TERMS
from webapp.submissions.api_models import split_score


class BoardQuery(Sized):
    """The requested rows of a leaderboard, and their order."""

    page: Annotated[Number, Field(description="The number of the page, starting at 1.", ge=1)] = 1
    split: Annotated[
        Split,
        Field(description="The split of the leaderboard; the private one is available after the reveal."),
    ] = Split.PUBLIC
    sort: Annotated[
        Text,
        Field(
            description="The column to sort by, or the name of a term; the rank by default.",
            json_schema_extra={"examples": sortable(term.name for term in TERMS)},
        ),
    ] = Sort.RANK.value
    order: Annotated[
        Literal["asc", "desc"] | None,
        Field(description="The sort order; the default depends on the column."),
    ] = None
    q: Annotated[Text, Field(description="Part of the name of a team.")] = ""
    division: Text | None = None
    board: Annotated[Text, Field(description="The key of a named leaderboard of the competition.")] = (
        MAIN_BOARD
    )

    def asked(self, *, page_size: int = PAGE_SIZE) -> BoardRequest:
        """Return the requested rows."""
        return BoardRequest(
            page=self.page,
            page_size=page_size,
            sort=self.sort,
            descending=None if self.order is None else self.order == "desc",
            search=normalize("NFKC", self.q.strip()),  # as names are
            division=self.division or None,
            board=self.board,
        )


class BoardLine(Answer):
    """A row of a leaderboard; on the private one, `submission` is the one that counts."""

    rank: int | None
    team_id: Annotated[int, Field(description="The team's id, as in `/teams/{team_id}`.")]
    team: str
    alias: str | None
    division: str | None = None
    members: list[str]
    is_benchmark: bool
    score: Score
    terms: dict[str, float] | None
    entries: int
    last_submitted_at: Moment
    rank_change: int | None
    submission: int | None = None
    standard_error: Annotated[
        float | None,
        Field(
            description="The standard error of the score, to two digits; null if scores are rounded to steps."
        ),
    ] = None
    worst_group: WorstGroup | None = None


class BoardPage(Answer):
    """A page of a leaderboard; `own` is the user's row if it is not among the rows."""

    split: Split
    board: str | None
    scoring_version: int
    row_share: float
    team_count: int
    found_count: int
    page: int
    page_count: int
    rows: list[BoardLine]
    own: BoardLine | None
    page_size: PageSize
    next: str | None


class SplitScore(Answer):
    """The result of a submission on one split."""

    score: Score
    terms: dict[str, float]
    identities: list[dict[str, Any]] | None
    groups: list[GroupTable] | None = None


class CountedSubmission(Answer):
    """A submission that counts for its team."""

    submission: int
    team: str
    rank: int
    team_count: int
    public: SplitScore | None = None
    private: SplitScore | None = None


class OwnResults(Answer):
    """The scores of the team's files, newest first, and the team's ranks."""

    team: str
    lines: list[ResultLine]
    rank: int | None
    public_rank: int | None
    team_count: int
    selection_count: int
    disqualification: str | None


class RescoredLine(Answer):
    """The displayed public score of a submission before and after a rescoring; null if it has none."""

    submission_id: int
    file_name: str
    submitted_at: Moment
    before: Score | None
    after: Score | None


class LastRescoring(Answer):
    """The last published rescoring, and its effect on the team's submissions."""

    number: int
    replaced_number: int
    published_at: Moment
    text: str
    submissions: list[RescoredLine]


def board_page(board: Board, *, page_size: int, next_page: str | None) -> BoardPage:
    """Return a leaderboard page as the API model."""
    return BoardPage.of(
        board,
        board=board.rule and board.rule.key,
        row_share=round(board.row_share, 4),
        rows=[_line(row, board) for row in board.rows],
        own=_line(board.pinned, board) if board.pinned else None,
        page_size=page_size,
        next=next_page,
    )


def _line(row: ShownRow, board: Board) -> BoardLine:
    has_submission = board.split is Split.PRIVATE and not row.is_benchmark
    counts: dict[str, Any] = {"submission": row.submission_id} if has_submission else {}
    if board.has_groups:
        counts["worst_group"] = row.worst
    return BoardLine.of(
        row,
        score=float(row.score),
        alias=row.alias or None,
        terms=dict(row.terms) or None,
        entries=row.entry_count,
        standard_error=row.error,
        division=row.division,
        **counts,
    )


def counted_submission(counted: CountedEntry) -> CountedSubmission:
    """Return a counted submission with its results on both splits as the API model."""
    return CountedSubmission.of(
        counted,
        submission=counted.submission_id,
        **{split.value: split_score(result) for split, result in counted.results.items()},
    )
