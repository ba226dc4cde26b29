"""Displayed scores of a team's files: exact, bands, ladder, noise, none."""

import numpy as np
import pytest

from grader.feedback import Basis, Rule, ScoredFile, basis_of, paired_error, show
from grader.feedback.ladder import SAFE_STEP, safe_step
from grader.metrics.analysis.label_effects import LabelEffects
from grader.metrics.prepared import FloatArray
from grader.visibility import Feedback, Step

KEY = bytes(32)
# Near-zero noise, both in the comparison and in the displayed score.
QUIET = min((number / 20_000 for number in range(400)), key=lambda noise: abs(Basis(noise, None).other_noise))


def files(*scores: float, spread: float = 0.0) -> list[ScoredFile]:
    """Return files from different rows; score differences have the standard error `spread`."""
    found = []
    for place, score in enumerate(scores):
        sketch = np.zeros(512, np.float32)
        sketch[place] = spread / 2**0.5
        found.append(ScoredFile(score, Basis(QUIET, sketch)))
    return found


def effects(influence: FloatArray) -> LabelEffects:
    return LabelEffects(influence, np.zeros(influence.size), 0.0)


@pytest.mark.parametrize("feedback", [Feedback.OPEN, Feedback.TERMS, Feedback.SCORE])
def test_exact_modes_show_each_score(feedback: Feedback):
    assert show(files(0.912344, 0.912346), Rule(feedback, 200)) == [91234, 91235]


def test_band_is_named_by_its_lower_end():
    assert show(files(0.91399, 0.914, 0.1, 1.0), Rule(Feedback.TIERED, 200)) == [91200, 91400, 10000, 100000]


def test_blind_shows_nothing():
    assert show(files(0.9, 0.8), Rule(Feedback.BLIND, 200)) == [None, None]


def test_ladder_shows_only_improvements_of_at_least_a_step():
    shown = show(files(0.95, 0.9515, 0.95, 0.9521, 0.99, 0.98), Rule(Feedback.LADDER, 200))
    assert shown == [95000, None, None, 95200, 99000, None]


def test_ladder_requires_larger_improvements_far_below_the_top():
    rule = Rule(Feedback.LADDER, 200)
    assert show(files(0.95, 0.953), rule)[1] is not None
    assert show(files(0.65, 0.653), rule)[1] is None
    assert show(files(0.65, 0.661), rule)[1] is not None


def test_ladder_shows_only_improvements_beyond_chance():
    assert show(files(0.8, 0.82, 0.88, spread=0.02), Rule(Feedback.LADDER, 200)) == [80000, None, 88000]


def noisy(score: float, noise: float, *places: int, spread: float = 0.01) -> ScoredFile:
    """Return a file with this noise, to whose error these rows contribute equally."""
    sketch = np.zeros(512, np.float32)
    sketch[list(places)] = spread / len(places) ** 0.5
    return ScoredFile(score, Basis(noise, sketch))


def test_secret_noise_can_hide_an_improvement_and_show_a_non_improvement():
    rule, rows = Rule(Feedback.LADDER, 200), range(100, 200)
    first = noisy(0.8, QUIET, *range(50))
    assert show([first, noisy(0.84, -2.0, *rows)], rule)[1] is None
    assert show([first, noisy(0.80, 2.5, *rows)], rule)[1] is not None


def test_noise_of_the_comparison_is_not_part_of_the_displayed_score():
    shown = []
    for number in range(300):
        rows = range(100, 200)
        files = [noisy(0.7, QUIET, *range(50)), noisy(0.8, 2 + number / 300, *rows)]
        shown.append(show(files, Rule(Feedback.LADDER, 50))[1])
    assert abs(np.mean(shown) - 80_000) < 3 * 100_000 * 0.0142 / 300**0.5


def test_improvement_from_a_single_row_must_be_larger():
    rule, first = Rule(Feedback.LADDER, 200), noisy(0.8, QUIET, *range(50), spread=0.001)
    assert show([first, noisy(0.83, QUIET, *range(100, 200))], rule)[1] == 83000
    assert show([first, noisy(0.83, QUIET, 100)], rule)[1] is None


def test_error_is_at_least_the_effect_of_one_label_without_influences():
    rule, nothing = Rule(Feedback.LADDER, 200), np.zeros(512, np.float32)
    changes = nothing.copy()
    changes[7] = 0.05
    first = ScoredFile(0.8, Basis(QUIET, nothing, nothing))
    for basis in (Basis(QUIET, nothing, changes), Basis(QUIET, nothing, nothing, leap=0.05)):
        assert show([first, ScoredFile(0.89, basis)], rule)[1] is None
        assert show([first, ScoredFile(0.93, basis)], rule)[1] is not None
    assert show([first, ScoredFile(0.82, Basis(QUIET, nothing, nothing))], rule)[1] is not None


def test_each_attempt_and_each_displayed_score_raises_the_requirement():
    rule, worse = Rule(Feedback.LADDER, 200), files(*[0.5] * 300)
    first, better = noisy(0.8, QUIET, *range(50), spread=0.001), noisy(0.825, QUIET, *range(100, 200))
    assert show([first, better], rule)[1] is not None
    assert show([first, *worse, better], rule)[-1] is None
    climbed = show(files(*(0.93 + 0.0006 * place for place in range(60))), Rule(Feedback.LADDER, 50))
    assert sum(each is not None for each in climbed[:6]) > sum(each is not None for each in climbed[-6:])


def test_new_best_is_always_displayed_higher_than_the_previous_one():
    rule, rows = Rule(Feedback.LADDER, 200), range(100, 200)
    noises = [number / 100 for number in range(-100, 100)]
    for high in noises[::20]:
        for noise in noises:
            first, second = show([noisy(0.8, high, *range(50)), noisy(0.86, noise, *rows)], rule)
            assert first is not None
            assert second is None or second >= first + 200


def test_repeated_file_is_no_new_best_at_any_noise():
    rule = Rule(Feedback.LADDER, 200)
    one, other = noisy(0.8, 3.0, *range(50), spread=0.001), noisy(0.8, 2.8, *range(50), spread=0.001)
    assert [units is not None for units in show([one] * 3, rule)] == [True, False, False]
    assert [units is not None for units in show([one, other] * 2, rule)] == [True, True, False, False]


def test_ladder_ignores_a_file_with_unknown_error():
    known = files(0.9)[0]
    unknown = ScoredFile(0.99, Basis(0.0, None))
    assert show([known, unknown], Rule(Feedback.LADDER, 200)) == [90000, None]


def test_noise_depends_on_ranks_and_key():
    ranks = np.arange(100, dtype=np.uint16)
    one = basis_of(ranks, None, key=KEY)
    assert basis_of(ranks.astype(np.uint32), None, key=KEY).noise == one.noise
    assert basis_of(ranks, None, key=b"other").noise != one.noise
    assert basis_of(ranks[::-1], None, key=KEY).noise != one.noise


def test_noise_is_standard_normal():
    drawn = [basis_of(np.array([n], np.uint32), None, key=KEY).noise for n in range(4000)]
    assert abs(np.mean(drawn)) < 0.05
    assert abs(np.std(drawn) - 1) < 0.05


def test_noised_score_is_rounded_to_the_step_and_limited_to_valid_scores():
    low, high = ScoredFile(0.0001, Basis(-5.0, None)), ScoredFile(0.9999, Basis(5.0, None))
    assert show([low, high], Rule(Feedback.NOISED, 300)) == [0, 100000]
    assert show([ScoredFile(0.9, Basis(1.0, None))], Rule(Feedback.NOISED, 200)) == [90200]


def test_sketch_estimates_the_error_of_a_difference_accurately():
    rng = np.random.default_rng(3)
    ranks = np.arange(3, dtype=np.uint16)
    ratios = []
    for number in range(200):
        one, other = rng.normal(size=(2, 3000))
        found = paired_error(*(basis_of(ranks, effects(each), key=bytes([number])) for each in (one, other)))
        ratios.append(found / np.linalg.norm(one - other))
    assert abs(np.mean(ratios) - 1) < 0.01
    assert np.std(ratios) < 0.04


def test_sketch_survives_a_round_trip_through_storage():
    made = basis_of(np.arange(3, dtype=np.uint16), LabelEffects(np.ones(3), np.arange(3.0), 0.25), key=KEY)
    read = Basis.of(made.noise, made.to_bytes())
    assert paired_error(made, read) == 0
    assert np.array_equal(read.changes, made.changes)
    assert read.leap == 0.25
    # Files stored by an earlier release have this form.
    before = Basis.of(made.noise, made.to_bytes()[:2048])
    assert paired_error(made, before) == 0
    assert before.changes is None
    with pytest.raises(ValueError, match="2048 or 4100 bytes"):
        Basis.of(0.0, b"short")


@pytest.mark.parametrize(
    ("error", "step"),
    [
        (0.0, Step.OF_0_0005),
        (0.0005, Step.OF_0_0005),
        (0.0034, Step.OF_0_002),
        (0.0036, Step.OF_0_005),
        (0.05, Step.OF_0_05),
        (0.4, Step.OF_0_05),
    ],
)
def test_nearest_step_is_proposed(error: float, step: Step):
    assert safe_step(error / SAFE_STEP) is step
