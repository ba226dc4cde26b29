"""Leaderboards of thousands of random histories, compared with a simple reference."""

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from grader.ranking import selection
from grader.ranking.selection import Scored, Split, SubmissionKind
from tests.fixtures.examples import examples

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
TEAMS = 5

teams = st.integers(1, TEAMS)
units = st.integers(0, 3)  # Few distinct values produce many ties.
# The first value is the displayed public score, which may be missing.
scores = st.tuples(st.none() | units, units)
kinds = st.sampled_from([SubmissionKind.NORMAL] * 4 + list(SubmissionKind))
events = st.one_of(
    st.tuples(st.just("submit"), teams, kinds, st.integers(0, 2), scores),
    st.tuples(st.just("submit"), teams, kinds, st.integers(0, 2), scores),
    st.tuples(st.just("submit"), teams, kinds, st.integers(0, 2), scores),
    st.tuples(st.just("select"), st.integers(0, 30)),
    st.tuples(st.just("unselect"), st.integers(0, 30)),
    st.tuples(st.just("disqualify"), teams),
    st.tuples(st.just("reinstate"), teams),
    st.tuples(st.just("merge"), teams, teams),
    st.tuples(st.just("mark"), st.integers(0, 30), kinds),
    st.tuples(st.just("rescore"), st.lists(scores, min_size=1, max_size=5)),
)
histories = st.lists(events, max_size=24)
WORSE_SELECTED = [
    ("submit", 1, SubmissionKind.NORMAL, 1, (1, 0)),
    ("submit", 1, SubmissionKind.NORMAL, 1, (1, 3)),
    ("select", 0),
]


@dataclass
class Contest:
    """The history as rows, one for each submission, with the team that owns it now."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    out: set[int] = field(default_factory=set)
    clock: datetime = NOON

    def play(self, happened):
        for name, *rest in happened:
            getattr(self, name)(*rest)
        return self

    def submit(self, team, kind, wait, score):
        self.clock += timedelta(hours=wait)
        row = {"id": len(self.rows), "team": team, "kind": kind, "time": self.clock, "picked": False}
        self.rows.append(row | self.scores(score))

    def scores(self, score):
        """Return displayed and true scores; the true public scores have the reverse order.

        A named leaderboard has the same values on the other split; a private value of 0 is undefined on it.
        """
        named = {"named public": score[1] or None, "named private": score[0]}
        return {"public": score[0], "true": 3 - (score[0] or 0), "private": score[1], **named}

    def select(self, number, picked=True):
        for row in self.rows[number : number + 1]:
            row["picked"] = picked

    def unselect(self, number):
        self.select(number, picked=False)

    def disqualify(self, team):
        self.out.add(team)

    def reinstate(self, team):
        self.out.discard(team)

    def merge(self, one, other):
        for row in self.rows:
            row["team"] = one if row["team"] == other else row["team"]

    def mark(self, number, kind):
        for row in self.rows[number : number + 1]:
            row["kind"] = kind

    def rescore(self, values):
        for number, row in enumerate(self.rows):
            row |= self.scores(values[number % len(values)])

    def scored(self):
        return [
            Scored(
                row["id"],
                row["team"],
                row["time"],
                row["true"],
                row["private"],
                row["kind"],
                row["picked"],
                shown_units=row["public"],
                named={"named": (row["named public"], row["named private"])},
            )
            for row in self.rows
        ]


def obvious_board(contest, split, count):
    """Return tuples (rank, team, submission), computed by inserting one team after another."""
    board: list[dict[str, Any]] = []
    for team in range(1, TEAMS + 1):
        own = [row for row in contest.rows if row["team"] == team and row["kind"] == "normal"]
        if team in contest.out or not own:
            continue
        if split.endswith("private"):
            own = obvious_choice(own, count)
        if not (own := [row for row in own if row[split] is not None]):
            continue
        stands = own[0]
        for row in own:
            if is_better(row, stands, split):
                stands = row
        place = 0
        while place < len(board) and is_better(board[place], stands, split):
            place += 1
        board.insert(place, stands)
    return [(place + 1, row["team"], row["id"]) for place, row in enumerate(board)]


def obvious_choice(own, count):
    chosen: list[dict[str, Any]] = []
    for picked in (True, False):
        left = [row for row in own if row["picked"] is picked]
        while left and len(chosen) < count:
            top = left[0]
            for row in left:
                if is_better(row, top, "true"):
                    top = row
            left.remove(top)
            chosen.append(top)
    return chosen


def is_better(one, other, split):
    if one[split] != other[split]:
        return other[split] is None or (one[split] is not None and one[split] > other[split])
    if one[split] is None:
        return (one["time"], one["id"]) > (other["time"], other["id"])
    if one["time"] != other["time"]:
        return one["time"] < other["time"]
    return one["id"] < other["id"]


def lines(board):
    return [(rank, each.team_id, each.submission_id) for rank, each in enumerate(board, 1)]


@example(WORSE_SELECTED, 1, random.Random(1))
@given(histories, st.integers(1, 3), st.randoms(use_true_random=False))
@examples(600)
def test_all_leaderboards_equal_those_of_the_reference(happened, count, dice):
    contest = Contest().play(happened)
    scored = contest.scored()
    dice.shuffle(scored)
    boards = selection.compute(scored, disqualified=contest.out, selection_count=count)
    for board, name in (("", ""), ("named", "named ")):
        for split in Split:
            ranking = boards.rankings.get((board, split), ())
            assert lines(ranking) == obvious_board(contest, f"{name}{split}", count)
    for team, choices in boards.choices.items():
        own = [row for row in contest.rows if row["team"] == team and row["kind"] == "normal"]
        assert choices == {row["id"] for row in obvious_choice(own, count)}
