"""View of the submission behind a private leaderboard line, for its page and the API."""

from typing import Any

from grader.models import Split
from grader.services.leaderboards.counted_submission import Counted
from grader.services.leaderboards.submission_results import SplitResult
from webapp.presentation import formats
from webapp.submissions.views import SplitView, identities_json


class CountedView:
    """The submission behind a private leaderboard line."""

    def __init__(self, counted: Counted, *, own_team_id: int | None) -> None:
        self.submission_id = counted.submission_id
        self.team = counted.team
        self.is_own = counted.team_id == own_team_id
        self.place = f"{formats.ordinal(counted.rank)} of {counted.team_count:,}"
        self.public = SplitView.of(counted.results.get(Split.PUBLIC))
        self.private = SplitView.of(counted.results.get(Split.PRIVATE))


def counted_json(counted: Counted) -> dict[str, Any]:
    """Return the API's form."""
    return {
        "submission": counted.submission_id,
        "team": counted.team,
        "rank": counted.rank,
        "team_count": counted.team_count,
        **{split.value: result_json(result) for split, result in counted.results.items()},
    }


def result_json(result: SplitResult) -> dict[str, Any]:
    """Return what a submission got on one split."""
    return {
        "score": float(result.score),
        "terms": dict(result.terms),
        "identities": identities_json(result),
    }
