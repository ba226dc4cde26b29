"""Hundreds of slow clients during other users' requests and uploads."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.fixtures.patience import HANG_SECONDS
from tests.fixtures.slow_clients import besieged
from tests.fixtures.web import Caller

CROWD = {"half heads": 200, "slow bodies": 100, "silent": 200}


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_pages_and_uploads_work_during_hundreds_of_slow_requests(service, web, make_token, predictions_csv):
    service.competition()
    tokens = [make_token(name) for name in ("ada", "bob", "eve")]
    web.start()

    def visit(number):
        caller = Caller(web.address, tokens[number], timeout_seconds=HANG_SECONDS)
        for seed in range(5):
            assert caller.get("/competitions/toxicity/leaderboard").status == 200
            assert caller.send(predictions_csv(seed=1000 * number + seed)).status == 201
            time.sleep(0.5)

    with besieged(web.address, CROWD) as crowd:
        with ThreadPoolExecutor(len(tokens)) as pool:
            list(pool.map(visit, range(len(tokens))))
        assert len(crowd) == sum(CROWD.values())
