"""Ladder mode: a crash at any scoring step does not change the displayed scores."""

import pytest

from grader.models import JobState
from grader.visibility import Feedback
from grader.worker.scorer import Scorer
from tests.fixtures.ladders import by_the_rule, send, shown

SCORE_ONE = (
    "import sys; from grader.settings import load; from grader.worker.scorer import Scorer; "
    "Scorer.of(load()).run(int(sys.argv[1]))"
)
on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.mark.parametrize("point", ["claim.after_commit", "record.before_commit", "record.after_commit"])
@on_sqlite
def test_ladder_is_processed_in_order_despite_crashes(service, coarse, processes, watch, point: str):
    competition = coarse(Feedback.LADDER)
    sent = send(service, competition)
    scorer = Scorer.of(service.settings)
    jobs = [job_id for each in sent for job_id in each.job_ids]
    for job_id in jobs[:3]:
        processes.crash(service.settings, "-c", SCORE_ONE, str(job_id), at=point)
        assert not scorer.run(jobs[4]), "This file was uploaded after files that are still waiting."
        watch.let_leases_run_out()
        scorer.run(job_id)
    assert scorer.run(jobs[3])
    assert scorer.run(jobs[4])
    assert watch.states() == [JobState.DONE] * 5
    assert shown(service) == by_the_rule(service, competition)
