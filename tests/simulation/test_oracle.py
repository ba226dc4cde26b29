"""In-memory oracle: metric values that the feedback mode shows."""

from pathlib import Path

import numpy as np
import pytest

from grader.feedback import Rule, show
from grader.metrics import bias_report
from grader.ranking.order import score_units
from grader.services.submissions.histograms import Histograms
from grader.simulation import Competition, Honest, MemoryOracle, drawn
from grader.simulation.competitions import FloatArray
from grader.simulation.honest_teams import rank_correlation
from grader.storage.disk_cache import DiskCache
from grader.visibility import Feedback

ROWS = 2000


def files(competition: Competition, count: int = 8) -> list[FloatArray]:
    honest, rng = Honest(competition, 1), np.random.default_rng(1)
    return [honest.predictions(model) for model in honest.progress(rng, count)]


@pytest.mark.parametrize("seed", range(3))
def test_open_response_is_the_displayed_report_on_the_public_rows(seed: int):
    competition = drawn(seed, ROWS)
    for file in files(competition, 3):
        public = competition.public
        mentions = {name: rows[public] for name, rows in competition.mentions.items()}
        found = bias_report(competition.labels[public], file[public], mentions)
        answer = MemoryOracle(competition, Rule(Feedback.OPEN, 500)).send(file)
        assert answer.score_units == score_units(found.score)
        assert answer.terms == tuple(f"{value:.4f}" for value in found.terms.values())
        assert answer.table == {
            line.name: (f"{line.subgroup_auc:.2f}", f"{line.bpsn_auc:.2f}", f"{line.bnsp_auc:.2f}")
            for line in found.subgroups
        }


@pytest.mark.parametrize("feedback", Feedback)
def test_each_mode_shows_the_same_as_the_rule_for_all_files(feedback: Feedback):
    competition, rule = drawn(1, ROWS), Rule(feedback, 200)
    sent = files(competition)
    oracle = MemoryOracle(competition, rule)
    shown = [oracle.send(file).score_units for file in sent]
    assert shown == show([competition.score(file).file for file in sent], rule)


@pytest.mark.parametrize("feedback", Feedback)
def test_terms_tables_and_ranks_are_visible_only_in_their_modes(feedback: Feedback):
    competition = drawn(1, ROWS)
    answer = MemoryOracle(competition, Rule(feedback, 200)).send(files(competition, 1)[0])
    assert (answer.terms is not None) is (feedback in (Feedback.OPEN, Feedback.TERMS))
    assert (answer.table is not None) is (feedback is Feedback.OPEN)
    assert (answer.rank is not None) is (feedback is not Feedback.BLIND)


def test_accounts_have_separate_ladders_and_ranks():
    competition = drawn(1, ROWS)
    oracle = MemoryOracle(competition, Rule(Feedback.LADDER, 200))
    first, *_, last = files(competition)
    assert oracle.send(last, 0).score_units is not None
    assert oracle.send(first, 0).score_units is None
    assert oracle.send(first, 1).score_units is not None
    assert oracle.send(competition.labels.astype(float), 1).rank == 1
    assert oracle.send(first, 0).rank == 2


def test_competitions_are_reproducible_and_private_rows_do_not_change_scores():
    one, same, other = drawn(1, ROWS), drawn(1, ROWS), drawn(2, ROWS)
    assert np.array_equal(one.labels, same.labels)
    assert not np.array_equal(one.labels, other.labels)
    file = files(one, 1)[0]
    moved = np.where(one.public, file, -file)
    assert one.score(file).file.score == one.score(moved).file.score


def test_attacker_can_compute_the_agreement_of_files(tmp_path: Path):
    """The agreement on the pages of coarse modes therefore reveals nothing new."""
    one, other = files(drawn(1, ROWS), 2)
    histograms = Histograms(DiskCache(tmp_path, max_bytes=10**6))
    found = histograms.agreement("one", "other", {"one": one, "other": other}.get)
    assert found is not None
    assert found.correlation == pytest.approx(rank_correlation(list(one), list(other)))
    assert histograms.agreement("other", "one", {}.get) == found
