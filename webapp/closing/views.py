"""Texts of the Close page, and the table of the shake-up."""

from collections.abc import Iterator, Sequence
from typing import Any

from grader.ranking.order import Scale
from grader.services.closing.close import CloseState
from grader.services.competitions.phases import Stage
from grader.services.leaderboards.score_history import Move
from webapp.presentation import formats

EXPLANATIONS = {
    Stage.RUNNING: "Submissions are accepted until the close.",
    Stage.CLOSED: (
        "Submissions accepted in time are still being scored. The private standings will be computed "
        "afterwards."
    ),
    Stage.SETTLED: "The private standings are computed and hidden until you reveal them.",
    Stage.REVEALED: "The private leaderboard is public.",
}
SHOWN = 20


def explanation(state: CloseState) -> str:
    """Return the stage of the close as a sentence."""
    if state.stage is not Stage.CLOSED or state.waiting_count:
        return EXPLANATIONS[state.stage]
    rest = (
        "The private standings will be computed shortly."
        if state.selection_open_until is None
        else "Teams can still change their final selection."
    )
    return f"All submissions accepted in time have been processed. {rest}"


def missing(state: CloseState) -> Iterator[str]:
    """Yield the tasks that remain before the reveal."""
    if state.selection_open_until is not None:
        yield (
            f"The final selection is open until {formats.moment(state.selection_open_until)}. The private "
            "standings are computed and can be revealed after that."
        )
    if state.waiting_count:
        yield f"{_files(state.waiting_count)} still being scored, which delays the reveal."
    if state.failed_count:
        yield f"{_files(state.failed_count)} not scored because of a server error and would not be ranked."
    if state.preparing is not None:
        yield f"Scoring version {state.preparing} is not published. Publish or cancel it."
    if state.undivided_count:
        count = formats.counted(state.undivided_count, "team")
        yield f"{count} with scores {'has' if state.undivided_count == 1 else 'have'} no division."


def _files(count: int) -> str:
    return f"{formats.counted(count, 'submission')} accepted in time {'is' if count == 1 else 'are'}"


def shake_up(moves: Sequence[Move], scale: Scale) -> dict[str, Any]:
    """Return the figures of the shake-up, and the first rows of its table."""
    moved = [move for move in moves if move.places]
    most = max(moved, key=lambda move: (abs(move.places), -move.rank), default=None)
    return {
        "team_count": len(moves),
        "moved_count": len(moved),
        "moved_share": formats.percent(len(moved), len(moves)),
        "largest": f"{most.places:+,}" if most else "0",
        "largest_team": most.team if most else "",
        "leader_note": f"{scale.text(moves[0].units)}, public rank {moves[0].public_rank:,}",
        "moves": moves[:SHOWN],
        "text": scale.text,
    }
