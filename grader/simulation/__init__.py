"""Simulation of attackers and honest teams in each feedback mode.

An attacker uses only an `Oracle` and the knowledge of a participant: the row ids, the mentioned identities,
the feedback mode and the predictions of its own model. `run` simulates several competitions and aggregates
the results.
"""

from grader.simulation.competitions import Answer, Competition, MemoryOracle, Oracle, drawn
from grader.simulation.honest_teams import Honest
from grader.simulation.trials import ATTACKS, Trial, attack, attacker_of, gain, proposed_step, run

__all__ = [
    "ATTACKS",
    "Answer",
    "Competition",
    "Honest",
    "MemoryOracle",
    "Oracle",
    "Trial",
    "attack",
    "attacker_of",
    "drawn",
    "gain",
    "proposed_step",
    "run",
]
