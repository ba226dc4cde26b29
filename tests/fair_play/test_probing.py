"""Signs of probing: detection of attacks within ten files, without false alarms."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.fair_play import FileOrder, FileSigns, Sign, is_listed
from grader.fair_play.probing import LISTED_FILES
from grader.metrics import dense_ranks
from tests.fair_play.team_files import ATTACKS, Rows, attack_files, honest_team, signs
from tests.fixtures.examples import examples

WITHIN = 10


def listed_after(found: list[FileSigns]) -> int | None:
    """Return the number of files after which a team is listed."""
    return next((count for count in range(1, len(found) + 1) if is_listed(found[:count])), None)


def honest(seed: int, teams: int) -> Iterator[list[FileSigns]]:
    rows, rng = Rows(seed), np.random.default_rng([1, seed])
    for _ in range(teams):
        yield signs(rows, honest_team(rows, rng))


def false_alarms(teams: list[list[FileSigns]]) -> int:
    """Return the number of files of honest teams in the list."""
    return sum(bool(file.signs) for team in teams if is_listed(team) for file in team)


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_is_found_within_its_first_ten_files(name: str):
    rows, rng = Rows(1), np.random.default_rng(1)
    files = attack_files(name, rows, rng)
    own = rows.model(rng.normal(size=rows.labels.size))
    for sent in (files, [own, *files[: WITHIN - 1]]):
        assert listed_after(signs(rows, sent)) in range(LISTED_FILES, WITHIN + 1)


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_shared_by_five_accounts_is_found_in_each_account(name: str):
    rows, rng = Rows(2), np.random.default_rng(2)
    files = attack_files(name, rows, rng, 5 * WITHIN)
    assert all(listed_after(signs(rows, files[account::5])) for account in range(5))


@pytest.mark.long
def test_every_attack_is_found_in_twenty_competitions():
    for seed in range(20):
        for name in ATTACKS:
            rows, rng = Rows(seed), np.random.default_rng(seed)
            assert listed_after(signs(rows, attack_files(name, rows, rng))), (name, seed)


def test_none_of_a_hundred_honest_files_is_listed():
    assert false_alarms(list(honest(0, 10))) == 0


@pytest.mark.long
def test_less_than_one_percent_of_five_hundred_honest_files_is_listed():
    for seed in range(4):
        teams = list(honest(seed, 50))
        files = [file for team in teams for file in team]
        assert len(files) == 500
        assert false_alarms(teams) < 5
        # A team with only a few suspicious files is not listed.
        assert sum(bool(file.signs) for file in files) < 0.12 * len(files)


def test_constant_file_has_no_sign():
    rows = Rows(1, rows=2000)
    own = rows.model(np.random.default_rng(1).normal(size=2000))
    assert [each.signs for each in signs(rows, [own, np.zeros(2000), np.full(2000, 0.07)])] == [(), (), ()]


def test_repeated_file_has_no_sign():
    rows = Rows(1, rows=2000)
    own = rows.model(np.random.default_rng(1).normal(size=2000))
    assert not any(each.signs for each in signs(rows, [own, own, 3 * own - 1, own]))


def test_evidence_counts_the_rows_moved_since_an_earlier_file():
    rows = Rows(1, rows=2000)
    own = rows.model(np.random.default_rng(1).normal(size=2000))
    other = rows.model(np.random.default_rng(2).normal(size=2000))
    moved = own.copy()
    moved[[3, 500, 1200]] = 5, -5, 6
    found = signs(rows, [other, own, moved])[2]
    assert found.signs == (Sign.FEW_MOVED,)
    assert (found.nearest, found.moved) == (1, 3)


@examples(30)
@given(st.integers(0, 10**6), st.sampled_from(sorted(ATTACKS)))
def test_monotone_transform_of_every_file_changes_no_sign(seed: int, name: str):
    rows, rng = Rows(3, rows=2000), np.random.default_rng(seed)
    files = attack_files(name, rows, rng, 3)
    assert signs(rows, [np.exp(file / 3) * 7 for file in files]) == signs(rows, files)


@examples(50)
@given(st.integers(0, 10**6), st.integers(0, 40))
def test_rows_moved_far_are_counted(seed: int, count: int):
    rng = np.random.default_rng(seed)
    values = rng.permutation(1000).astype(float)
    changed = values.copy()
    rows = rng.choice(np.flatnonzero((values > 100) & (values < 900)), count, replace=False)
    changed[rows] = rng.choice([-1, 1], count) * 5000
    before, after = FileOrder(dense_ranks(values)), FileOrder(dense_ranks(changed))
    assert np.flatnonzero(after.moved(before)).tolist() == sorted(rows.tolist())
    assert (before.moved(after) == after.moved(before)).all()
