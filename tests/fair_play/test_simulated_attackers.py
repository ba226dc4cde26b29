"""Detection of simulated attackers within ten files, in exact and coarse modes."""

from collections import defaultdict

import numpy as np
import pytest

from grader.fair_play import FileOrder, TeamFiles, is_listed, secret_rows, sketch_of
from grader.feedback import Rule
from grader.metrics import dense_ranks
from grader.visibility import Feedback

# This module is installed with the simulation command.
suite = pytest.importorskip("grader.simulation.trials")

WITHIN = 10
# These attacks restore an honest model step by step and move one row per file, so they show no signs.
UNLISTED = {
    "a nearly perfect identity",
    "five accounts above an identity",
    "one row above an identity",
    "two identities at the bottom",
}
LISTED = [name for name in suite.ATTACKS if name not in UNLISTED]
assert len(LISTED) == len(suite.ATTACKS) - len(UNLISTED)


class Listening:
    """An oracle that records the files it receives, by account."""

    def __init__(self, oracle):
        self._oracle = oracle
        self.files: dict[int, list[FileOrder]] = defaultdict(list)

    @property
    def rule(self) -> Rule:
        found: Rule = self._oracle.rule
        return found

    def send(self, predictions, account: int = 0):
        self.files[account].append(FileOrder(dense_ranks(predictions)))
        return self._oracle.send(predictions, account)


@pytest.mark.parametrize("feedback", [Feedback.OPEN, Feedback.LADDER])
@pytest.mark.parametrize("name", LISTED)
def test_simulated_attacker_is_found_within_ten_files(name: str, feedback: Feedback):
    from grader.simulation.competitions import MemoryOracle, drawn
    from grader.simulation.honest_teams import Honest

    competition = drawn(1)
    honest, rule = Honest(competition, 1), Rule(feedback, 200)
    attacker = suite.attacker_of(competition, honest, rule, files=5 * WITHIN, seed=1)
    oracle = Listening(MemoryOracle(competition, rule))
    suite.ATTACKS[name](oracle, attacker)
    sample = secret_rows(b"key", competition.rows)
    assert oracle.files
    for files in oracle.files.values():
        orders = files[:WITHIN]
        team = TeamFiles(competition.mentions, orders.__getitem__)
        found = []
        for place, order in enumerate(orders):
            auc = order.height(np.asarray(competition.labels))
            found.append(team.add(place, order, sketch_of(order, sample).places, score=auc, auc=auc))
        assert is_listed(found)
