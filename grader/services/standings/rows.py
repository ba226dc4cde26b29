"""Standing rows without disqualified teams: updates, rebuilds, and ranks at the start of each UTC day."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime, time

from sqlalchemy import delete, func, insert, or_, select
from sqlalchemy.orm import Session, joinedload

from grader.models import (
    MAIN_BOARD,
    Competition,
    CompetitionState,
    DailyRank,
    Score,
    ScoringVersion,
    ScoringVersionState,
    Split,
    Standing,
    Submission,
    SubmissionKind,
    Team,
)
from grader.ranking import order, selection
from grader.ranking.order import TeamEntry
from grader.ranking.selection import Ranking
from grader.services.competitions import lookup
from grader.services.standings import shown_scores
from grader.visibility import Feedback

_IN_USE = (ScoringVersionState.LIVE, ScoringVersionState.PREPARING)


def without_daily_ranks(session: Session, *, now: datetime) -> list[Competition]:
    """Return the competitions for which today's starting ranks are missing."""
    day = now.astimezone(UTC).date()
    written = (
        select(DailyRank.id)
        .where(DailyRank.scoring_version_id == Competition.live_scoring_version_id, DailyRank.day == day)
        .exists()
    )
    # A scalar subquery is evaluated for each competition. PostgreSQL would turn EXISTS into a join that reads
    # the scores of all competitions.
    first_ranked = (
        select(Submission.id)
        .join(Score, Score.submission_id == Submission.id)
        .join(Team, Team.id == Submission.team_id)
        .where(
            Submission.competition_id == Competition.id,
            Score.scoring_version_id == Competition.live_scoring_version_id,
            Submission.kind == SubmissionKind.NORMAL,
            Submission.submitted_at < _start(day),
            or_(Competition.freezes_at.is_(None), Submission.submitted_at < Competition.freezes_at),
            Team.disqualified_at.is_(None),
        )
        .order_by(Submission.submitted_at)
        .limit(1)
        .scalar_subquery()
    )
    return list(
        session.scalars(
            select(Competition)
            .where(
                Competition.state == CompetitionState.PUBLISHED,
                Competition.feedback != Feedback.BLIND,
                ~written,
                first_ranked.is_not(None),
            )
            .options(joinedload(Competition.live_scoring_version))
        )
    )


def compute_daily_ranks(session: Session, *, competition: Competition, now: datetime) -> dict[int, int]:
    """Return the public rank of each team at the start of today, under the live scoring version."""
    start = _start(now.astimezone(UTC).date())
    before = min(start, competition.frozen_from or start)
    return selection.ranks_at(
        shown_scores.scored(session, scoring_version_id=lookup.live(competition).id, before=before),
        start,
        disqualified=shown_scores.disqualified(session, competition_id=competition.id),
    )


def write_daily_ranks(
    session: Session, *, competition: Competition, ranks: dict[int, int], now: datetime
) -> bool:
    """Write the ranks at the start of today; return False if they exist or another version is live."""
    version_id = lookup.live(competition).id
    day = now.astimezone(UTC).date()
    current = lookup.lock(session, competition_id=competition.id)
    if current.live_scoring_version_id != version_id or daily_ranks(session, version_id, day, limit=1):
        return False
    rows = [
        {"scoring_version_id": version_id, "day": day, "team_id": team_id, "rank": rank}
        for team_id, rank in ranks.items()
    ]
    if rows:
        session.execute(insert(DailyRank), rows)
    return True


def forget_daily_ranks(session: Session, *, competition: Competition) -> None:
    """Delete the daily ranks of a leaderboard; the sweeper rewrites today's."""
    session.execute(delete(DailyRank).where(DailyRank.scoring_version_id == lookup.live(competition).id))


def daily_ranks(
    session: Session,
    scoring_version_id: int,
    day: date,
    *,
    team_ids: Collection[int] | None = None,
    limit: int | None = None,
    division: str | None = None,
) -> dict[int, int]:
    """Return the ranks at the start of a day, by default for all teams, or the ranks inside a division."""
    of_day = DailyRank.scoring_version_id == scoring_version_id, DailyRank.day == day
    query = select(DailyRank.team_id, DailyRank.rank).where(*of_day)
    if division is not None:
        inside = func.row_number().over(order_by=DailyRank.rank).label("rank")
        teams = select(DailyRank.team_id, inside).join(Team, Team.id == DailyRank.team_id)
        query = select(teams.where(*of_day, Team.division == division).subquery())
    if team_ids is not None:
        query = query.where(query.selected_columns.team_id.in_(team_ids))
    return dict(session.execute(query.limit(limit)).all())


def _start(day: date) -> datetime:
    return datetime.combine(day, time(tzinfo=UTC))


def to_row(entry: TeamEntry, *, scoring_version_id: int, split: Split, board: str = MAIN_BOARD) -> Standing:
    """Return an entry as a row."""
    return Standing(
        scoring_version_id=scoring_version_id,
        split=split,
        board=board,
        team_id=entry.team_id,
        submission_id=entry.submission_id,
        score_units=entry.score_units,
        submitted_at=entry.submitted_at,
    )


def to_entry(row: Standing) -> TeamEntry:
    """Return a row as an entry."""
    return TeamEntry(row.team_id, row.submission_id, row.score_units, row.submitted_at)


def enter(session: Session, *, entries: Mapping[str, Collection[TeamEntry]], scoring_version_id: int) -> None:
    """Store new public entries of each leaderboard that are their teams' best.

    Entries of disqualified teams are not stored.
    """
    best = {
        (board, entry.team_id): entry
        for board, own in entries.items()
        for entry in selection.best_of_teams(own)
    }
    # The teams' rows serve as locks: if two scores are recorded concurrently, the better one must win.
    qualified = session.execute(
        select(Team.id, Team.disqualified_at)
        .where(Team.id.in_({team_id for _, team_id in best}))
        .order_by(Team.id)
        .with_for_update(key_share=True)
    )
    teams = {team_id for team_id, disqualified_at in qualified if disqualified_at is None}
    present = session.scalars(
        select(Standing)
        .where(
            Standing.scoring_version_id == scoring_version_id,
            Standing.split == Split.PUBLIC,
            Standing.board.in_(entries),
            Standing.team_id.in_(teams),
        )
        .execution_options(populate_existing=True)
    )
    rows = {(row.board, row.team_id): row for row in present}
    for (board, team_id), entry in best.items():
        if team_id not in teams:
            continue
        row = rows.get((board, team_id))
        if row is None:
            session.add(to_row(entry, scoring_version_id=scoring_version_id, split=Split.PUBLIC, board=board))
        elif order.order(entry) < order.order(to_entry(row)):
            row.submission_id = entry.submission_id
            row.score_units = entry.score_units
            row.submitted_at = entry.submitted_at
    session.flush()


def in_use(session: Session, *, competition: Competition) -> Sequence[ScoringVersion]:
    """Return the scoring versions that have standings: the live one and the one in preparation."""
    mine = ScoringVersion.competition_id == competition.id
    return session.scalars(select(ScoringVersion).where(mine, ScoringVersion.state.in_(_IN_USE))).all()


def rebuild(session: Session, *, competition: Competition, team_ids: Collection[int] | None = None) -> None:
    """Rewrite the standings of teams after a merger, a disqualification or a change of kind.

    After a change of the freeze, rewrite those of all teams. The competition must be locked. Public standings
    exist under the live scoring version and the one in preparation. Private standings exist only under the
    live version, after settling. The sweeper rewrites the daily ranks.
    """
    forget_daily_ranks(session, competition=competition)
    rewrite(session, competition=competition, team_ids=team_ids)


def rewrite(session: Session, *, competition: Competition, team_ids: Collection[int] | None = None) -> None:
    """Rewrite the standings of teams, by default all, without the daily ranks."""
    for version in in_use(session, competition=competition):
        splits = [Split.PUBLIC]
        if competition.settled_at is not None and version.state is ScoringVersionState.LIVE:
            splits.append(Split.PRIVATE)
        write(
            session, competition=competition, scoring_version_id=version.id, splits=splits, team_ids=team_ids
        )


def write(
    session: Session,
    *,
    competition: Competition,
    scoring_version_id: int,
    splits: Collection[Split],
    team_ids: Collection[int] | None = None,
) -> None:
    """Replace the standings of these teams (by default, all teams) on these splits."""
    doomed = delete(Standing).where(
        Standing.scoring_version_id == scoring_version_id, Standing.split.in_(splits)
    )
    if team_ids is not None:
        doomed = doomed.where(Standing.team_id.in_(team_ids))
    session.flush()
    session.execute(doomed.execution_options(synchronize_session="fetch"))
    scored = shown_scores.scored(session, scoring_version_id=scoring_version_id, team_ids=team_ids)
    out = shown_scores.disqualified(session, competition_id=competition.id)
    shown = [each for each in scored if shown_scores.is_shown(competition, each.submitted_at)]
    public, private = (
        selection.compute(each, disqualified=out, selection_count=competition.selection_count)
        for each in (shown, scored)
    )
    rankings = {MAIN_BOARD: Ranking(public.public, private.private)}
    for board in {*public.named, *private.named}:
        of_board = (each.named.get(board, Ranking()) for each in (public, private))
        rankings[board] = Ranking(next(of_board).public, next(of_board).private)
    session.add_all(
        to_row(line.entry, scoring_version_id=scoring_version_id, split=split, board=board)
        for board, ranking in rankings.items()
        for split in splits
        for line in (ranking.private if split is Split.PRIVATE else ranking.public)
    )
    session.flush()
