"""View of a team's results after the reveal, in sentences."""

from grader.services.leaderboards.team_results import ResultLine, TeamResults
from webapp.leaderboards.views import change
from webapp.presentation import formats


class ResultsView:
    """A team's files after the reveal and the sentences about its places."""

    def __init__(self, results: TeamResults) -> None:
        self.team = results.team
        self.lines = [(line, _why(line)) for line in results.lines]
        self.place = _place(results)
        self.missed = _missed(results, any(line.is_picked for line in results.lines))
        shake_up = (
            None
            if results.rank is None or results.public_rank is None
            else results.public_rank - results.rank
        )
        self.change, self.direction = ("", "quiet") if shake_up is None else change(shake_up)


def _place(results: TeamResults) -> str:
    if results.rank is None:
        return "Your team is not on the private leaderboard."
    place = f"{formats.ordinal(results.rank)} of {formats.counted(results.team_count, 'team')}"
    if results.public_rank is None:
        return f"{place}."
    return f"{place}; {formats.ordinal(results.public_rank)} on the public leaderboard."


def _why(line: ResultLine) -> str:
    """Return why a file competed or not, and whether it counts."""
    if line.is_late:
        return "late: not ranked"
    if line.is_picked is None:
        return "did not compete: not selected"
    how = "selected by you" if line.is_picked else "chosen automatically (best public score)"
    return f"counted; {how}" if line.counted else f"competed; {how}"


def _missed(results: TeamResults, has_picked: bool) -> str:
    missed = results.missed
    if missed is None:
        return ""
    rank = formats.ordinal(missed.rank)
    if not missed.is_better:
        praise = "Your selection was right" if has_picked else "The automatic choice was right"
        return (
            f"{praise}: your best other submission, #{missed.submission_id} with "
            f"{missed.score}, would have ranked {rank}, no better."
        )
    return (
        f"Your best submission that did not compete was #{missed.submission_id} with {missed.score}: it "
        "would "
        f"have ranked {rank}."
    )
