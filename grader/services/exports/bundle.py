"""Results bundle of a finished competition: request, and data on the final standings.

It contains the public results after the reveal, rounded as displayed. The solution and the exact receipts are
included only on explicit request.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.charts.frontier import frontier_file, labeled
from grader.errors import OrganizerError
from grader.metrics.boards import BoardRule
from grader.models import (
    MAIN_BOARD,
    Competition,
    FinalBoard,
    OrganizerJob,
    OrganizerJobKind,
    ScoringVersion,
    Split,
    Submission,
)
from grader.receipts import Receipt
from grader.services.competitions import boards as rules
from grader.services.competitions import entry_fields, lookup, organizers, phases, team_names
from grader.services.competitions.acting import Act
from grader.services.competitions.entry_fields import Detail
from grader.services.competitions.metric import Rules, term_names
from grader.services.competitions.phases import Stage
from grader.services.jobs import organizer_jobs
from grader.services.leaderboards import lines as board_lines
from grader.services.leaderboards import score_history, submission_results
from grader.services.leaderboards.submission_results import SplitResult
from grader.services.solutions.publication import BundleParameters
from grader.services.standings import final_standings
from grader.services.standings.ranks import Standings
from grader.services.submissions import receipts
from grader.visibility import Phase, Viewer, visible_fields


class NotFinal(OrganizerError):
    """There are no final standings yet."""

    public_name = "not_final"
    message = "The results bundle contains the final standings. Make the standings final first."


@dataclass(frozen=True, slots=True)
class BundleLine:
    """One displayed row of a leaderboard; `public_rank` is set only on the private leaderboard."""

    rank: int
    team: str
    members: tuple[str, ...]
    submission_id: int
    sha256: str
    score: str
    terms: Mapping[str, float]
    division: str | None
    public_rank: int | None = None
    details: tuple[Detail, ...] = ()


@dataclass(frozen=True, slots=True)
class FinalResults:
    """The data of a bundle, except the solution file."""

    slug: str
    title: str
    evaluation: str
    organizers: tuple[str, ...]
    closed_at: datetime
    finalized_at: datetime
    number: int
    reason: str
    scoring_version: int
    rules: Rules
    fields: tuple[str, ...]
    metric_code_version: str
    solution_number: int
    commitment: str
    nonce: str | None
    rows: Mapping[Split, int]
    boards: Mapping[Split, tuple[BundleLine, ...]]
    results: Mapping[int, Mapping[Split, SplitResult]]
    chart: str | None
    named: Mapping[str, tuple[BundleLine, ...]]
    receipts: tuple[Receipt, ...] = ()
    has_divisions: bool = False


def request(act: Act, *, with_solution: bool) -> OrganizerJob:
    """Add the job that creates the bundle; raise NotFinal."""
    if phases.stage(act.competition, act.now) is not Stage.FINAL:
        raise NotFinal
    job = organizer_jobs.add(
        act.session,
        competition=act.competition,
        kind=OrganizerJobKind.BUNDLE,
        parameters=BundleParameters(with_solution=with_solution, with_results=True).as_dict(),
        created_by=act.actor.user,
        now=act.now,
    )
    act.record("bundle.start", "results bundle", after={"with_solution": with_solution})
    return job


def gather(session: Session, *, competition: Competition, with_receipts: bool) -> FinalResults:
    """Return the data of the newest final standings; raise NotFinal."""
    board = final_standings.newest_board(session, competition=competition)
    if board is None:
        raise NotFinal
    version = session.get_one(ScoringVersion, board.scoring_version_id)
    boards = {
        Split.PRIVATE: _private(session, competition, board, version),
        Split.PUBLIC: _public(session, version, board.created_at),
    }
    submissions = _submissions(session, (line.submission_id for line in boards[Split.PRIVATE]))
    seen = visible_fields(Viewer.PUBLIC, Phase.REVEALED, competition.feedback)
    solution = version.solution
    return FinalResults(
        slug=competition.slug,
        title=competition.title,
        evaluation=competition.evaluation,
        organizers=tuple(each.user.name for each in organizers.list_all(session, competition=competition)),
        closed_at=competition.closes_at or board.created_at,
        finalized_at=board.created_at,
        number=board.number,
        reason=board.reason,
        scoring_version=version.number,
        rules=Rules.of(version),
        fields=entry_fields.names(team_names.shown_fields(competition)),
        metric_code_version=version.metric_code_version,
        solution_number=solution.number,
        commitment=solution.commitment or "",
        nonce=solution.nonce if with_receipts else None,
        rows={Split.PUBLIC: solution.public_row_count, Split.PRIVATE: solution.private_row_count},
        boards=boards,
        results=submission_results.split_results_of(
            session, submission_ids=[*submissions], version=version, allowed=seen
        ),
        has_divisions=bool(competition.divisions),
        chart=_chart(session, competition, boards[Split.PRIVATE]),
        named={
            rule.key: _private(session, competition, board, version, rule)
            for rule in rules.rules(board.boards, version)
        },
        receipts=tuple(
            receipts.all_whole(session, submissions=[*submissions.values()], version=version)
            if with_receipts
            else ()
        ),
    )


def _chart(session: Session, competition: Competition, lines: Sequence[BundleLine]) -> str | None:
    """Return the chart of accuracy and fairness, or None if the metric has neither bias terms nor groups."""
    points = score_history.terms_of_board(session, competition=competition, split=Split.PRIVATE)
    drawn = score_history.plot(points, lookup.live(competition))
    teams = {line.rank: line.team for line in lines}
    return (
        frontier_file(drawn, {each: teams[points[each].rank] for each in labeled(drawn)}) if drawn else None
    )


def _private(
    session: Session,
    competition: Competition,
    board: FinalBoard,
    version: ScoringVersion,
    rule: BoardRule | None = None,
) -> tuple[BundleLine, ...]:
    """Return the rows of the final standings with the team names of that time.

    Those of a named leaderboard have neither members nor terms.
    """
    lines = session.scalars(final_standings.rows_of(board, rule.key if rule else MAIN_BOARD)).all()
    ranks = {line.team_id: line.rank for line in lines}
    loaded = {} if rule else _rows(session, version, Split.PRIVATE, ranks, board.created_at)
    scale = rules.scale(rule) if rule else version.scale
    hashes = _hashes(session, (line.submission_id for line in lines))
    return tuple(
        BundleLine(
            rank=line.rank,
            team=line.team_name,
            members=loaded[line.team_id].members if line.team_id in loaded else (),
            submission_id=line.submission_id,
            sha256=hashes[line.submission_id],
            score=scale.text(line.score_units),
            terms=loaded[line.team_id].terms if line.team_id in loaded else {},
            division=line.division,
            public_rank=line.public_rank,
            details=entry_fields.shown(team_names.shown_fields(competition), line.details),
        )
        for line in lines
    )


def _public(session: Session, version: ScoringVersion, now: datetime) -> tuple[BundleLine, ...]:
    ranks = Standings(session, version.id, Split.PUBLIC).ranks()
    loaded = _rows(session, version, Split.PUBLIC, ranks, now)
    hashes = _hashes(session, (row.submission_id for row in loaded.values()))
    return tuple(
        BundleLine(
            rank=rank,
            team=loaded[team_id].team,
            members=loaded[team_id].members,
            submission_id=loaded[team_id].submission_id,
            sha256=hashes[loaded[team_id].submission_id],
            score=loaded[team_id].score,
            terms=loaded[team_id].terms,
            division=loaded[team_id].division,
        )
        for team_id, rank in sorted(ranks.items(), key=lambda each: each[1])
    )


def _rows(
    session: Session, version: ScoringVersion, split: Split, ranks: Mapping[int, int], now: datetime
) -> Mapping[int, board_lines.ShownRow]:
    return board_lines.load(
        Standings(session, version.id, split),
        version=version,
        ranks=ranks,
        terms=term_names(version),
        now=now,
        scale=version.scale,
    )


def _submissions(session: Session, submission_ids: Iterable[int]) -> dict[int, Submission]:
    """Return submissions by id, in the given order."""
    ids = list(submission_ids)
    submissions: dict[int, Submission] = {}
    for first in range(0, len(ids), 1000):
        part = session.scalars(select(Submission).where(Submission.id.in_(ids[first : first + 1000])))
        submissions |= {submission.id: submission for submission in part}
    return {submission_id: submissions[submission_id] for submission_id in ids}


def _hashes(session: Session, submission_ids: Iterable[int]) -> dict[int, str]:
    submissions = _submissions(session, submission_ids)
    return {submission_id: submission.sha256 for submission_id, submission in submissions.items()}
