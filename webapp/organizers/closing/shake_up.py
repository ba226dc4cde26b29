"""View of the shake-up for organizers: who moves from the public to the private leaderboard, as pictures."""

from collections.abc import Sequence

from grader.charts.changes import change_strip
from grader.charts.slopes import Slope, slope_chart
from grader.ranking.order import score_text
from grader.services.leaderboards.chart_points import Move
from webapp.presentation import formats

SHOWN = 20


class ShakeUpView:
    """Figures, the slopes of all teams, the strip of their score changes, and the first lines as a table."""

    def __init__(self, moves: Sequence[Move]) -> None:
        self.team_count = len(moves)
        self.moved_count = sum(move.places != 0 for move in moves)
        self.moved_share = formats.percent(self.moved_count, len(moves))
        most = max(moves, key=lambda move: (abs(move.places), -move.rank))
        self.largest = f"{most.places:+,}" if most.places else "0"
        self.largest_team = most.team if most.places else ""
        leader = moves[0]
        self.leader = leader.team
        self.leader_note = f"{score_text(leader.units)}, public rank {leader.public_rank:,}"
        self.slopes = slope_chart([Slope(move.rank, move.public_rank, move.team, False) for move in moves])
        self.strip = change_strip([move.units - move.public_units for move in moves])
        self.lines = [
            (
                move.rank,
                move.public_rank,
                _direction(move),
                move.team,
                score_text(move.units),
                score_text(move.public_units),
            )
            for move in moves[:SHOWN]
        ]


def _direction(move: Move) -> str:
    return "up" if move.places > 0 else "down" if move.places < 0 else "quiet"
