"""Simulation of attackers and honest teams under each mode of feedback.

An attacker asks an `Oracle` alone and knows no more than a participant does: the ids, who mentions whom, the
mode, and a model of its own. `run` tries modes in several competitions and sums up.
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
