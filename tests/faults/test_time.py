"""Clock skew, and uploads near the close: only the database's clock counts."""

import os
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import select, update

from grader import db
from grader.models import Competition, ScoringJob, Submission
from grader.services.closing import close
from grader.services.site.log import Actor
from grader.settings import Settings
from tests.fixtures.patience import HANG_SECONDS
from tests.fixtures.programs import find_program

on_postgresql = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
DAY_SECONDS = 86_400
LAST_SECONDS = 1.0
REFUSALS = 3
# The process's clock is shifted by the number of seconds in a file, which is read at every call.
WRONG_CLOCK = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long offset(void) {
    long seconds = 0;
    const char *path = getenv("WRONG_CLOCK");
    FILE *file = path ? fopen(path, "r") : NULL;
    if (file) { if (fscanf(file, "%ld", &seconds) != 1) seconds = 0; fclose(file); }
    return seconds;
}
int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = (int) syscall(SYS_clock_gettime, clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += offset();
    return failed;
}
int gettimeofday(struct timeval *now, void *zone) {
    struct timespec precise;
    int failed = clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return failed;
}
time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}
"""


class WrongClock:
    """A fake clock for processes that are started with its `environment`."""

    def __init__(self, compiler: str, folder: Path):
        source, self._library, self._offset = folder / "clock.c", folder / "clock.so", folder / "offset"
        source.write_text(WRONG_CLOCK)
        subprocess.run([compiler, "-shared", "-fPIC", "-o", self._library, source], check=True)
        self.set(0)

    @property
    def environment(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(self._library), "WRONG_CLOCK": str(self._offset)}

    def set(self, seconds: int):
        draft = self._offset.with_suffix(".draft")
        draft.write_text(str(seconds))
        draft.replace(self._offset)


@pytest.fixture
def wrong_clock(tmp_path: Path) -> WrongClock:
    if os.uname().sysname != "Linux":
        pytest.skip("The library that changes the clock of a process needs Linux.")
    return WrongClock(find_program("cc", "gcc", "clang", command="apt-get install gcc libc6-dev"), tmp_path)


@pytest.fixture
def settings(make_settings: Callable[..., Settings]) -> Settings:
    return make_settings(
        web_workers=1,
        web_threads=12,
        disk_reserve_mb=0,
        sweep_after_seconds=0,
    )


def close_at(service, competition: Competition, *, in_seconds: float) -> datetime:
    """Set when a competition closes, according to the database's clock."""
    with service.database.write() as session:
        closes_at = db.now(session) + timedelta(seconds=in_seconds)
        session.execute(update(Competition).values(closes_at=closes_at))
    return closes_at


@on_postgresql
@pytest.mark.long
def test_web_and_sweeper_with_wrong_clocks_use_the_databases_time(
    service,
    web,
    make_token,
    processes,
    predictions_csv,
    wrong_clock: WrongClock,
    eventually,
    watch,
    monkeypatch: pytest.MonkeyPatch,
):
    competition = service.competition(max_daily_submissions=3)
    caller = web.caller(make_token())
    web.start(**wrong_clock.environment)
    close_at(service, competition, in_seconds=3600)
    for seed, offset in enumerate((DAY_SECONDS, -DAY_SECONDS, 2 * DAY_SECONDS)):
        wrong_clock.set(offset)
        answer = caller.send(predictions_csv(seed=seed))
        assert answer.status == 201, answer
        assert answer.data["limits"]["used_today"] == seed + 1
        web_time = parsedate_to_datetime(answer.headers["Date"])
        # The process really uses the wrong clock.
        assert abs((web_time - datetime.now(UTC)).total_seconds() - offset) < 600
    refused = caller.send(predictions_csv(seed=3))
    assert (refused.status, refused.data["error"]) == (429, "daily_limit_reached")
    assert int(refused.headers["Retry-After"]) <= DAY_SECONDS
    with service.database.read() as session:
        now = db.now(session)
        for submission in session.scalars(select(Submission)):
            assert timedelta() < now - submission.submitted_at < timedelta(minutes=10)
            assert submission.slot_day == submission.submitted_at.date()
    close_at(service, competition, in_seconds=-60)
    wrong_clock.set(-DAY_SECONDS)
    refused = caller.send(predictions_csv(seed=4))
    assert (refused.status, refused.data["error"]) == (403, "competition_closed")
    for name, value in wrong_clock.environment.items():
        monkeypatch.setenv(name, value)
    processes.sweeper(service.settings)
    eventually(watch.all_scored)
    assert watch.attempts() == [1, 1, 1]


def test_only_actions_before_the_close_are_accepted(
    service, web, make_token, predictions_csv, check_invariants
):
    competition = service.competition()
    names = ("ada", "bob", "eve", "joe")
    tokens = {name: make_token(name) for name in names}
    # Each team already has two files. A second client alternates its selection between them until the close.
    earlier = {name: [service.submit(competition, user=name, seed=seed) for seed in (1, 2)] for name in names}
    service.score(*(accepted for pair in earlier.values() for accepted in pair))
    web.start()
    with ThreadPoolExecutor(2 * len(names)) as pool:
        under_way = threading.Barrier(2 * len(names) + 1)
        uploads = [
            pool.submit(_upload_until_refused, web.caller(tokens[name]), predictions_csv, number, under_way)
            for number, name in enumerate(names)
        ]
        picks = [
            pool.submit(
                _pick_until_refused,
                web.caller(tokens[name]),
                [accepted.submission.id for accepted in earlier[name]],
                under_way,
            )
            for name in names
        ]
        under_way.wait(HANG_SECONDS)
        closes_at = close_at(service, competition, in_seconds=LAST_SECONDS)
    sent = {key: content for each in uploads for key, content in each.result().items()}
    with service.database.read() as session:
        times = {key: session.get_one(Submission, key).submitted_at for key in sent}
        picked = set(session.scalars(select(Submission.id).where(Submission.is_selected)))
    assert len(sent) >= len(names)
    assert max(times.values()) < closes_at
    assert picked == {key for each in picks for key in each.result()}
    with service.database.read() as session:
        waiting = session.scalars(select(ScoringJob.id).where(ScoringJob.finished_at.is_(None))).all()
    service.run(*waiting)
    with service.database.write() as session:
        close.reveal(session, competition=competition, actor=Actor(None, "tests"))
    final = web.caller(tokens["ada"]).get("/api/v1/competitions/toxicity/leaderboard?split=private")
    assert final.status == 200 and len(final.data["rows"]) == len(names)
    acknowledged = {key: sha256(content).hexdigest() for key, content in sent.items()}
    for accepted in (each for pair in earlier.values() for each in pair):
        acknowledged[accepted.submission.id] = accepted.submission.sha256
    check_invariants(service.database, service.storage, acknowledged=acknowledged)


def _upload_until_refused(
    caller, predictions_csv, number: int, under_way: threading.Barrier
) -> dict[int, bytes]:
    """Upload until the competition has closed; assert that none is accepted later."""
    accepted: dict[int, bytes] = {}
    refusals = 0
    for each in range(1000):
        content = predictions_csv(seed=1000 * (number + 1) + each)
        answer = caller.send(content)
        if answer.status == 201:
            assert not refusals
            accepted[answer.data["id"]] = content
            if len(accepted) == 1:
                under_way.wait(HANG_SECONDS)
        else:
            assert (answer.status, answer.data["error"]) == (403, "competition_closed"), answer
            refusals += 1
        if refusals == REFUSALS:
            break
    assert refusals
    return accepted


def _pick_until_refused(caller, ids: list[int], under_way: threading.Barrier) -> set[int]:
    """Alternate the selection between two files until the close; return the final selection."""
    picked: set[int] = set()
    refusals = turn = 0
    while refusals < REFUSALS:
        submission_id, wanted = ids[turn // 2 % 2], turn % 2 == 0
        body = f"selected={str(wanted).lower()}".encode()
        answer = caller.request(
            "POST",
            f"/api/v1/submissions/{submission_id}/select",
            body,
            Content_Type="application/x-www-form-urlencoded",
        )
        if answer.status == 200:
            assert not refusals
            picked = picked | {submission_id} if wanted else picked - {submission_id}
        else:
            assert (answer.status, answer.data["error"]) == (403, "selection_closed"), answer
            refusals += 1
        turn += 1
        if turn == 1:
            under_way.wait(HANG_SECONDS)
    return picked
