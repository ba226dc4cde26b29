"""A rescoring does not delay new files."""

import pytest
from sqlalchemy import select

from grader.models import JobState, ScoringJob


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_new_file_is_scored_while_a_rescoring_blocks(
    service, prepare_version, make_settings, processes, snag, eventually
):
    competition = service.competition()
    accepted = [service.submit(competition, seed=seed, user=f"user{seed}") for seed in range(3)]
    service.score(*accepted)
    version = prepare_version(competition)
    caught = snag(accepted[0])  # This snag is never released.
    processes.sweeper(make_settings(sweep_after_seconds=0))
    eventually(caught.holds)
    new = service.submit(competition, user="late", seed=1000)
    eventually(lambda: service.submission(new).finished_at is not None)
    with service.database.read() as session:
        blocked = select(ScoringJob).where(
            ScoringJob.scoring_version_id == version.id,
            ScoringJob.submission_id == accepted[0].submission.id,
        )
        assert session.scalars(blocked).one().state is not JobState.DONE
