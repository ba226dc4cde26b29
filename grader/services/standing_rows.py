"""Between the rows of the standing table and the entries that are ranked."""

from grader.leaderboard.standings import Entry
from grader.models import Split, Standing


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
