"""Participants' attacks over HTTP: uploads and derived labels.

The long run sends 300 files of every attack over HTTP. The short run sends 60 files of some attacks and shows
that a site responds exactly like the simulator, with which tests/simulation tries every attack 20 times.
"""

from dataclasses import replace

import numpy as np
import pytest

from grader.feedback import Rule
from grader.metrics import MetricSettings
from grader.simulation import ATTACKS, Competition, Honest, MemoryOracle, attacker_of, drawn, gain
from grader.simulation.competitions import FloatArray
from grader.visibility import Feedback
from tests.fixtures.attacked import HttpOracle

STEP = 500
SMALL, LARGE = 1200, 6000


def competition_of(seed: int, rows: int) -> Competition:
    """A generated competition with a site's settings and a realistic key."""
    return replace(drawn(seed, rows), settings=MetricSettings(), key=b"%064x" % (seed + 1))


def honest_files(competition: Competition, count: int, seed: int) -> list[FloatArray]:
    """Files of a team whose scores improve."""
    honest, rng = Honest(competition, seed), np.random.default_rng(seed)
    return [honest.predictions(model) for model in honest.progress(rng, count)]


@pytest.mark.parametrize(("seed", "feedback"), list(enumerate(Feedback)))
def test_site_returns_the_same_responses_as_the_simulator(arena, seed: int, feedback: Feedback):
    competition, rule = competition_of(seed, SMALL), Rule(feedback, STEP)
    site, memory = HttpOracle(arena, competition, rule), MemoryOracle(competition, rule)
    for account in (0, 1):
        for file in honest_files(competition, 4, 10 * seed + account):
            assert site.send(file, account) == memory.send(file, account)


def attacked(arena, name: str, feedback: Feedback, *, files: int, rows: int, seed: int = 3):
    """Run an attack against a site; return the setting, the outcome and the number of files."""
    competition, rule = competition_of(seed, rows), Rule(feedback, STEP)
    attacker = attacker_of(competition, Honest(competition, seed), rule, files=files, seed=seed)
    site, memory = HttpOracle(arena, competition, rule), MemoryOracle(competition, rule)
    outcome = ATTACKS[name](site, attacker)
    again = attacker_of(competition, Honest(competition, seed), rule, files=files, seed=seed)
    same = ATTACKS[name](memory, again)
    assert np.array_equal(outcome.guesses, same.guesses)
    assert np.array_equal(outcome.best, same.best)
    return competition, attacker, outcome, len(site.sent)


def test_sixty_files_over_http_reveal_hidden_labels_in_open_feedback(arena):
    competition, attacker, outcome, sent = attacked(
        arena, "overall AUC by blocks", Feedback.OPEN, files=60, rows=LARGE
    )
    found = gain(competition, attacker, outcome)
    assert sent <= 60
    assert found.right > 0.9
    assert found.right > max(found.own, found.negative) + 0.1


@pytest.mark.parametrize("name", ["identity at the bottom", "score through the weakest subgroup"])
def test_sixty_files_over_http_reveal_nothing_on_a_ladder(arena, name: str):
    competition, attacker, outcome, _ = attacked(arena, name, Feedback.LADDER, files=60, rows=SMALL)
    found = gain(competition, attacker, outcome)
    assert 100 * (found.right - max(found.own, found.negative)) <= 2


@pytest.mark.long
@pytest.mark.parametrize("feedback", [Feedback.OPEN, Feedback.LADDER])
@pytest.mark.parametrize("name", list(ATTACKS))
def test_each_attack_with_300_files_gains_the_same_over_http_as_in_memory(
    arena, name: str, feedback: Feedback
):
    attacked(arena, name, feedback, files=300, rows=LARGE)
