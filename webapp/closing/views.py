"""View model of the close: stages, checklist, jobs, shake-up."""

from collections.abc import Iterator, Sequence

from grader.models import Submission
from grader.ranking.order import Scale
from grader.services.closing.checklist import CloseState
from grader.services.competitions.phases import Stage
from grader.services.leaderboards.score_history import Move
from webapp.presentation import formats

STAGES = {
    Stage.RUNNING: "Running",
    Stage.CLOSED: "Closed",
    Stage.SETTLED: "Settled",
    Stage.REVEALED: "Revealed",
}
EXPLANATIONS = {
    Stage.RUNNING: (
        "Submissions are accepted until the close. Revealing the private leaderboard now would close the "
        "competition immediately."
    ),
    Stage.CLOSED: (
        "Submissions accepted in time are still being scored. The private standings will be computed "
        "afterwards."
    ),
    Stage.SETTLED: "The private standings are computed and hidden until you reveal them.",
    Stage.REVEALED: "The private leaderboard is public.",
}


class CloseView:
    """The state of the close, as texts and available actions."""

    def __init__(self, state: CloseState) -> None:
        self.state = state
        self.stage = state.stage
        self.explanation = EXPLANATIONS[state.stage]
        if state.stage is Stage.CLOSED and not state.waiting_count:
            rest = (
                "The private standings will be computed shortly."
                if state.selection_open_until is None
                else "Teams can still change their final selection."
            )
            self.explanation = f"All submissions accepted in time have been processed. {rest}"
        place = list(STAGES).index(state.stage)
        self.steps = [(words, number - place) for number, words in enumerate(STAGES.values())]
        self.can_reveal = state.stage is not Stage.REVEALED
        self.missing = list(_missing(state))


def _missing(state: CloseState) -> Iterator[str]:
    if state.selection_open_until is not None:
        until = formats.moment(state.selection_open_until)
        yield (
            f"The final selection is open until {until}. The private standings are computed and can be "
            "revealed after that."
        )
    if state.waiting_count:
        yield (
            f"{_files(state.waiting_count)} still being scored, which delays the reveal: "
            f"{_named(state.waiting, state.waiting_count)}."
        )
    if state.failed_count:
        yield (
            f"{_files(state.failed_count)} not scored because of a server error and would not be ranked: "
            f"{_named(state.failed, state.failed_count)}."
        )
    if state.preparing is not None:
        yield f"Scoring version {state.preparing} is not published. Publish or cancel it."
    if state.undivided_count:
        count = formats.counted(state.undivided_count, "team")
        yield f"{count} with scores {'has' if state.undivided_count == 1 else 'have'} no division."


def _files(count: int) -> str:
    return f"{formats.counted(count, 'submission')} accepted in time {'is' if count == 1 else 'are'}"


def _named(submissions: Sequence[Submission], count: int) -> str:
    names = [f"#{each.id} of {each.team.name}" for each in submissions]
    more = [f"{count - len(names):,} more"] if count > len(names) else []
    return ", ".join(names + more)


SHOWN = 20


class ShakeUpView:
    """The shake-up: figures, and a table of the first rows."""

    def __init__(self, moves: Sequence[Move], scale: Scale) -> None:
        self.team_count = len(moves)
        self.moved_count = sum(move.places != 0 for move in moves)
        self.moved_share = formats.percent(self.moved_count, len(moves))
        most = max(moves, key=lambda move: (abs(move.places), -move.rank))
        self.largest = f"{most.places:+,}" if most.places else "0"
        self.largest_team = most.team if most.places else ""
        self.leader_note = f"{scale.text(moves[0].units)}, public rank {moves[0].public_rank:,}"
        self.moves = moves[:SHOWN]
        self.text = scale.text
