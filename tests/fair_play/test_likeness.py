"""Similarity of files: detection of other teams' copies, no matches among honest models."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from grader.fair_play import FileOrder, Match, Sketch, matches, secret_rows, sketch_of
from grader.metrics import dense_ranks
from tests.fair_play.honest_models import predictions
from tests.fixtures.examples import examples

FloatArray = NDArray[np.float64]


def sketches(files: Sequence[FloatArray]) -> list[Sketch]:
    rows = secret_rows(b"a secret", files[0].size)
    return [sketch_of(FileOrder(dense_ranks(file)), rows) for file in files]


def found(files: Sequence[FloatArray]) -> list[Match]:
    """Return the matches of files, each from a different team."""
    return matches(sketches(files), range(len(files)))


@pytest.fixture(scope="module")
def few() -> list[FloatArray]:
    return list(predictions(looks=3, ways=4))


def scaled(file: FloatArray) -> FloatArray:
    return np.asarray((file - file.min()) / np.ptp(file))


def edited(file: FloatArray, _other: FloatArray, rng: np.random.Generator) -> FloatArray:
    changed = file.copy()
    rows = rng.random(file.size) < 0.05
    changed[rows] = rng.permutation(file)[rows]
    return changed


def zeroed(file: FloatArray, _other: FloatArray, rng: np.random.Generator) -> FloatArray:
    return np.where(rng.random(file.size) < 0.05, file.min() - 1, file)


COPIES: dict[str, Callable[[FloatArray, FloatArray, np.random.Generator], FloatArray]] = {
    "the same file": lambda file, other, rng: file,
    "another scale": lambda file, other, rng: 3 * file - 1,
    "another order-keeping transform": lambda file, other, rng: np.tanh(scaled(file)) ** 3,
    "noise of a millionth": lambda file, other, rng: scaled(file) + 1e-6 * rng.normal(size=file.size),
    "5 % of the rows shuffled": edited,
    "5 % of the rows at the bottom": zeroed,
}


# Tiny noise reorders rows with predictions near 0.
HARDER = {"noise of a millionth"}


@pytest.mark.parametrize("kind", COPIES)
def test_only_the_copy_is_found(few: list[FloatArray], kind: str):
    rng = np.random.default_rng(1)
    for place in (1, 5, 8):
        copy = np.asarray(COPIES[kind](few[place], few[(place + 5) % len(few)], rng))
        assert [(match.one, match.other) for match in found([*few, copy])] == [(place, len(few))]


def test_few_honest_models_are_not_similar(few: list[FloatArray]):
    assert found(few) == []


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # Honest models match too.
def test_hundred_honest_models_are_not_similar_and_their_copies_are_found():
    files, rng = list(predictions()), np.random.default_rng(2)
    assert len(files) == 100
    assert found(files) == []
    for kind, copied in COPIES.items():
        hits = 0
        for place, other in enumerate(rng.permutation(len(files))[::4].tolist()):
            copy = np.asarray(copied(files[4 * place], files[other], rng))
            hits += any({match.one, match.other} == {4 * place, 100} for match in found([*files, copy]))
        assert hits >= (19 if kind in HARDER else 25), kind


@examples(25)
@given(st.integers(0, 10**6))
def test_monotone_transforms_and_file_order_change_no_verdict(seed: int):
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=800)
    files = [shared + rng.uniform(0.1, 1) * rng.normal(size=800) for _ in range(6)]
    files += [files[0] + 0.001 * rng.normal(size=800), np.round(files[1], 1)]
    before = {frozenset((match.one, match.other)): match.agreement for match in found(files)}
    assert frozenset((0, 6)) in before
    transformed = [np.exp(file * rng.uniform(0.1, 2)) for file in files]
    place = rng.permutation(len(files))
    after = {
        frozenset((int(place[match.one]), int(place[match.other]))): match.agreement
        for match in found([transformed[each] for each in place])
    }
    assert after == before


def test_files_of_one_team_are_not_compared_and_two_teams_have_one_match():
    rng = np.random.default_rng(3)
    first, second, third = rng.normal(size=(3, 500))
    files = [first, first, second, first + 1, 2 * first, third]
    [match] = matches(sketches(files), [1, 1, 2, 3, 3, 4])
    assert (match.one, match.other, match.is_same_order) == (0, 3, True)


def test_constant_files_match_nothing_and_equal_binary_files_match():
    rng = np.random.default_rng(4)
    split = (rng.random(500) < 0.2) * 1.0
    files = [np.zeros(500), np.ones(500), split, 1 + split, (rng.random(500) < 0.2) * 1.0]
    assert [(match.one, match.other) for match in found(files)] == [(2, 3)]


def test_every_file_similar_to_one_of_the_organizers_is_named(few: list[FloatArray]):
    files = [*few, few[0] + 1, few[0] * 2, few[1] * 2]
    known = -9
    teams = [*range(1, len(few) + 1), 50, 50, known]
    pairs = {(match.one, match.other) for match in matches(sketches(files), teams)}
    assert pairs == {(0, len(few)), (1, len(few) + 2)}
    teams = [known, *range(2, len(few) + 1), 50, 50, 60]
    pairs = {(match.one, match.other) for match in matches(sketches(files), teams)}
    assert pairs == {(0, len(few)), (0, len(few) + 1), (1, len(few) + 2)}


def test_sampled_rows_depend_only_on_the_key():
    assert (secret_rows(b"one", 9000) == secret_rows(b"one", 9000)).all()
    assert not (secret_rows(b"one", 9000) == secret_rows(b"two", 9000)).all()
    assert secret_rows(b"one", 7).tolist() == list(range(7))
