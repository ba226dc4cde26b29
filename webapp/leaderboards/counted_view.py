"""View of the submission behind a private leaderboard line, for its page."""

from grader.models import Split
from grader.services.leaderboards.counted_submission import Counted
from webapp.presentation import formats
from webapp.submissions.views import SplitView


class CountedView:
    """The submission behind a private leaderboard line."""

    def __init__(self, counted: Counted, *, own_team_id: int | None) -> None:
        self.submission_id = counted.submission_id
        self.team = counted.team
        self.is_own = counted.team_id == own_team_id
        self.place = f"{formats.ordinal(counted.rank)} of {counted.team_count:,}"
        self.public = SplitView.of(counted.results.get(Split.PUBLIC))
        self.private = SplitView.of(counted.results.get(Split.PRIVATE))
