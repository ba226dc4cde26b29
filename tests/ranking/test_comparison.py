"""Differences between scoring versions, for random leaderboards and small examples."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from grader.ranking import order, selection
from grader.ranking.comparison import ScorePair, compare
from grader.ranking.order import SCALE, Scale
from grader.ranking.selection import MAIN_BOARD, Scored, Split, SubmissionKind

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
TEAMS = 5

# Few distinct values produce many ties.
units = st.integers(0, 4)
scores = st.one_of(st.none(), st.tuples(units, units))
rows = st.lists(
    st.tuples(
        st.integers(1, TEAMS),
        st.sampled_from([SubmissionKind.NORMAL] * 4 + list(SubmissionKind)),
        st.booleans(),
        st.integers(0, 2),
        scores,
        scores,
    ).filter(lambda row: row[4] or row[5]),
    max_size=20,
)
teams_out = st.sets(st.integers(1, TEAMS), max_size=2)


def pair(number, row):
    team, kind, is_selected, hour, before, after = row

    def scored(values: tuple[int, int] | None) -> Scored | None:
        moment = NOON + timedelta(hours=hour)
        return values and Scored(number, team, moment, *values, kind, is_selected, shown_units=values[0])

    return ScorePair(scored(before), scored(after))


def pairs_of(drawn):
    return [pair(number, row) for number, row in enumerate(drawn)]


def boards_of(pairs, **options):
    """Return the leaderboards before and after."""
    return [
        selection.compute([scored for each in pairs if (scored := getattr(each, side))], **options)
        for side in ("before", "after")
    ]


def simple(*values):
    """Return submissions from tuples (team, score before, score after), with equal scores on both splits."""
    return [
        pair(number, (team, SubmissionKind.NORMAL, False, number, (old, old), (new, new)))
        for number, (team, old, new) in enumerate(values)
    ]


@given(rows, teams_out, st.integers(1, 3))
def test_both_sides_equal_the_computed_leaderboards(drawn, out, selection_count):
    pairs = pairs_of(drawn)
    sides = boards_of(pairs, disqualified=out, selection_count=selection_count)
    found = compare(*sides)
    assert list(found) == [(MAIN_BOARD, split) for split in Split]
    for side, expected in zip(("before", "after"), sides, strict=True):
        for key, board in found.items():
            ranked = {getattr(team, f"rank_{side}"): getattr(team, side) for team in board.teams}
            ranking = tuple(ranked[place] for place in range(1, len(ranked.keys() - {None}) + 1))
            assert ranking == expected.rankings[key]


@given(rows, teams_out)
def test_reverse_comparison_exchanges_the_sides_and_equal_sides_have_no_change(drawn, out):
    sides = boards_of(pairs_of(drawn), disqualified=out)
    there, back = compare(*sides), compare(*sides[::-1])
    for one, other in ((board, back[key]) for key, board in there.items()):
        assert one.leaders == other.leaders[::-1]
        assert {(t.rank_before, t.before, t.rank_after, t.after) for t in one.moved} == {
            (t.rank_after, t.after, t.rank_before, t.before) for t in other.moved
        }
    assert not any(board.moved for board in compare(sides[0], sides[0]).values())


def test_changes_of_ranks_scores_and_leaders_are_correct_in_an_example():
    pairs = simple((1, 90, 70), (2, 80, 80), (3, 60, 60), (4, 50, 55))
    public, private = compare(*boards_of(pairs)).values()
    assert [(team.team_id, team.rank_before, team.rank_after) for team in public.teams] == [
        (2, 2, 1),
        (1, 1, 2),
        (3, 3, 3),
        (4, 4, 4),
    ]
    assert [team.team_id for team in private.moved] == [2, 1]
    assert public.leaders == (1, 2)
    assert pairs[0].changes((SCALE, SCALE)) == (Decimal("-0.00020"),) * 2


def test_displayed_scores_are_compared_across_scales_and_beyond_2_to_the_53():
    error, accuracy = Scale(2, is_lowest_best=True), Scale(3)
    old, new = (
        Scored(1, 1, NOON, scale.units(score), scale.units(score), shown_units=0)
        for scale, score in ((error, 0.25), (accuracy, 0.875))
    )
    pair, scales = ScorePair(old, new), (error, accuracy)
    assert pair.changes(scales) == (Decimal("0.625"),) * 2
    sizes = [SCALE.units(size) for size in (3e20, 1e20)]
    one, other = (Scored(1, 1, NOON, units, units, shown_units=units) for units in sizes)
    assert order.change_text(ScorePair(one, other).changes((SCALE, SCALE))[0]) == "-2.00000e+20"


def test_team_without_scores_in_the_new_version_is_listed_as_gone():
    pairs = [*simple((1, 90, 90)), pair(1, (2, SubmissionKind.NORMAL, False, 0, (95, 95), None))]
    board = compare(*boards_of(pairs))[MAIN_BOARD, Split.PUBLIC]
    stays, gone = board.teams
    assert (stays.team_id, gone.team_id) == (1, 2)
    assert gone.after is None
    assert board.moved == (stays, gone)
