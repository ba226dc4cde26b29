"""Standing rows: update or rebuild the row of each team from its submissions."""

from collections.abc import Collection

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from grader.models import Competition, ScoringVersion, ScoringVersionState, Split, Standing, Team
from grader.ranking import order, selection
from grader.ranking.order import Entry
from grader.services.standings import daily_ranks, scored_submissions, shown_scores

_IN_USE = (ScoringVersionState.LIVE, ScoringVersionState.PREPARING)


def to_row(entry: Entry, *, scoring_version_id: int, split: Split) -> Standing:
    """Return the row that keeps an entry as its team's standing."""
    return Standing(
        scoring_version_id=scoring_version_id,
        split=split,
        team_id=entry.team_id,
        submission_id=entry.submission_id,
        score_units=entry.score_units,
        submitted_at=entry.submitted_at,
    )


def to_entry(row: Standing) -> Entry:
    """Return the entry that a row keeps."""
    return Entry(row.team_id, row.submission_id, row.score_units, row.submitted_at)


def enter(session: Session, *, entries: Collection[Entry], scoring_version_id: int) -> None:
    """Enter new public entries where they are their team's best; a disqualified team gets none."""
    best = {entry.team_id: entry for entry in sorted(entries, key=order.order, reverse=True)}
    # The teams' rows are the locks: of two scores recorded at once the better must stay.
    qualified = session.execute(
        select(Team.id, Team.disqualified_at)
        .where(Team.id.in_(best))
        .order_by(Team.id)
        .with_for_update(key_share=True)
    )
    teams = [team_id for team_id, disqualified_at in qualified if disqualified_at is None]
    present = session.scalars(
        select(Standing)
        .where(
            Standing.scoring_version_id == scoring_version_id,
            Standing.split == Split.PUBLIC,
            Standing.team_id.in_(teams),
        )
        .execution_options(populate_existing=True)
    )
    rows = {row.team_id: row for row in present}
    for team_id in teams:
        entry, row = best[team_id], rows.get(team_id)
        if row is None:
            session.add(to_row(entry, scoring_version_id=scoring_version_id, split=Split.PUBLIC))
        elif order.order(entry) < order.order(to_entry(row)):
            row.submission_id = entry.submission_id
            row.score_units = entry.score_units
            row.submitted_at = entry.submitted_at
    session.flush()


def rebuild(session: Session, *, competition: Competition, team_ids: Collection[int]) -> None:
    """Write the standings of these teams again, after a merge, a disqualification or a change of kind.

    The competition is locked. Public ones under the live and the prepared scoring version, private ones
    where they have been computed: under the live version, from the settling on. The ranks at the start of
    the day are forgotten, and written anew by the sweeper.
    """
    daily_ranks.forget(session, competition=competition)
    versions = session.scalars(
        select(ScoringVersion).where(
            ScoringVersion.competition_id == competition.id, ScoringVersion.state.in_(_IN_USE)
        )
    ).all()
    for version in versions:
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
    """Replace the standings of these teams, by default of all, on these splits.

    Under a coarse mode of feedback what is shown of their files is worked out before.
    """
    doomed = delete(Standing).where(
        Standing.scoring_version_id == scoring_version_id, Standing.split.in_(splits)
    )
    if team_ids is not None:
        doomed = doomed.where(Standing.team_id.in_(team_ids))
    session.flush()
    if competition.feedback.is_coarse and Split.PUBLIC in splits:
        shown_scores.work_out(
            session, competition=competition, scoring_version_id=scoring_version_id, team_ids=team_ids
        )
    session.execute(doomed.execution_options(synchronize_session="fetch"))
    boards = selection.compute(
        scored_submissions.scored(session, scoring_version_id=scoring_version_id, team_ids=team_ids),
        disqualified=scored_submissions.disqualified(session, competition_id=competition.id),
        selection_count=competition.selection_count,
    )
    lines = {Split.PUBLIC: boards.public, Split.PRIVATE: boards.private}
    session.add_all(
        to_row(line.entry, scoring_version_id=scoring_version_id, split=split)
        for split in splits
        for line in lines[split]
    )
    session.flush()
