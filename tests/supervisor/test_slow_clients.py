"""Hundreds of slow clients during other users' requests and uploads."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.fixtures.patience import HANG_SECONDS
from tests.fixtures.slow_clients import SlowClients
from tests.fixtures.web import Caller

CROWD = {"half heads": 200, "slow bodies": 100, "silent": 200}
VISITORS = 3


class Honest:
    """Clients that visit and upload, and the duration of each response."""

    def __init__(self, callers, contents):
        self._callers, self._contents = callers, contents
        self.seconds: list[float] = []
        self.uploads = 0

    def go_on_for(self, seconds):
        end = time.monotonic() + seconds
        with ThreadPoolExecutor(len(self._callers)) as pool:
            list(pool.map(lambda each: self._visit(*each, end), enumerate(self._callers)))

    def _visit(self, number, caller, end):
        seed = 1000 * number
        while time.monotonic() < end:
            seed += 1
            self._time(lambda: caller.get("/competitions/toxicity/leaderboard"), 200)
            content = self._contents(seed=seed)
            self._time(lambda content=content: caller.send(content), 201)
            self.uploads += 1
            time.sleep(0.2)

    def _time(self, ask, status):
        began = time.monotonic()
        assert ask().status == status
        self.seconds.append(time.monotonic() - began)


@pytest.fixture
def honest(service, web, make_token, predictions_csv):
    service.competition()
    tokens = [make_token(name) for name in ("ada", "bob", "eve")[:VISITORS]]
    web.start()
    callers = [Caller(web.address, token, timeout_seconds=HANG_SECONDS) for token in tokens]
    return Honest(callers, predictions_csv)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_pages_and_uploads_work_during_hundreds_of_slow_requests(honest, web):
    with SlowClients(web.address, CROWD).besieging() as crowd:
        honest.go_on_for(3)
        assert sum(crowd.held.values()) == sum(CROWD.values())
    assert honest.uploads >= VISITORS
