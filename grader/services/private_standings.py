"""The private standings of a scoring version, written at the reveal and at a publication after it."""

from collections import defaultdict

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from grader.leaderboard import standings
from grader.leaderboard.standings import Entry
from grader.models import Score, Split, Standing, Submission
from grader.services.standing_rows import to_row


def write(session: Session, *, scoring_version_id: int) -> int:
    """Write each team's private standing: the better of the submissions selected for it; return how many."""
    session.execute(
        delete(Standing).where(
            Standing.scoring_version_id == scoring_version_id, Standing.split == Split.PRIVATE
        )
    )
    public = _entries(session, scoring_version_id, Split.PUBLIC)
    private = _entries(session, scoring_version_id, Split.PRIVATE)
    written = 0
    for team_id, public_entries in public.items():
        selected = standings.select_automatically(public_entries)
        entry = standings.private_entry(private[team_id], selected)
        if entry is not None:
            session.add(to_row(entry, scoring_version_id=scoring_version_id, split=Split.PRIVATE))
            written += 1
    session.flush()
    return written


def _entries(session: Session, scoring_version_id: int, split: Split) -> dict[int, list[Entry]]:
    query = (
        select(Submission.team_id, Submission.id, Score.score, Submission.submitted_at)
        .join(Score, Score.submission_id == Submission.id)
        .where(Score.scoring_version_id == scoring_version_id, Score.split == split)
    )
    entries: dict[int, list[Entry]] = defaultdict(list)
    for team_id, submission_id, score, submitted_at in session.execute(query):
        entries[team_id].append(Entry(team_id, submission_id, standings.score_units(score), submitted_at))
    return entries
