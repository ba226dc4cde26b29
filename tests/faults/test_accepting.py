"""Kills of web processes at every step of an upload, and retries with the same key."""

import itertools

import pytest
from pydantic import SecretStr
from sqlalchemy import select

from grader.models import Submission
from grader.worker.broker import QUEUE

BEFORE_THE_COMMIT = ("blob.before_rename", "accept.after_blob", "accept.before_commit")
AFTER_THE_COMMIT = ("accept.after_commit", "accept.before_response")
# A request may specify the crash point at which its process dies.
CRASHING = """
import os
from grader.crash_points import VARIABLE

def app(environ, start_response):
    if chosen := environ.get("HTTP_CRASH_AT"):
        os.environ[VARIABLE] = chosen
    return site(environ, start_response)
"""


@pytest.fixture
def settings(make_settings):
    return make_settings(web_workers=1, web_threads=4, disk_reserve_mb=0)


@pytest.fixture
def crashing_web(web, wrapped, tmp_path):
    """A web server whose worker process can be killed by a request; the master process replaces it."""
    (tmp_path / "spool").mkdir()
    environment = wrapped(CRASHING) | {"TMPDIR": str(tmp_path / "spool")}
    web.start("--preload", application="wrapped:app", **environment)
    return web


def ids(service):
    with service.database.read() as session:
        return list(session.scalars(select(Submission.id).order_by(Submission.id)))


def test_retry_with_the_same_key_after_any_crash_creates_one_submission(
    service, crashing_web, make_token, predictions_csv, all_is_well
):
    service.competition(max_daily_submissions=10)
    caller = crashing_web.caller(make_token())
    sent: dict[int, bytes] = {}
    for number, point in enumerate((*BEFORE_THE_COMMIT, *AFTER_THE_COMMIT)):
        content, key = predictions_csv(seed=number), f"key {number}"
        before = ids(service)
        with pytest.raises(ConnectionError):
            caller.send(content, key=key, Crash_At=point)
        is_there = point in AFTER_THE_COMMIT
        assert len(ids(service)) == len(before) + is_there, point
        answer = caller.send(content, key=key)
        assert answer.status == (200 if is_there else 201), point
        assert answer.data["id"] == ids(service)[-1]
        assert len(ids(service)) == len(before) + 1
        assert answer.data["limits"]["used_today"] == number + 1
        sent[answer.data["id"]] = content
    all_is_well(sent=sent)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_web_accepts_files_without_a_broker_and_sends_hints_again_after_it_returns(
    service, make_web, make_settings, make_token, predictions_csv, valkey, processes, eventually, watch
):
    service.competition()
    settings = make_settings(
        broker_url=SecretStr(valkey.url),
        web_workers=1,
        disk_reserve_mb=0,
        sweep_after_seconds=0,
    )
    web = make_web(settings)
    caller = web.caller(make_token())
    web.start()
    valkey.kill()
    for seed in range(10):
        assert caller.send(predictions_csv(seed=seed)).status == 201
    assert caller.get("/healthz").data["queue"] == "unreachable"
    assert caller.get("/readyz").status == 200
    valkey.start()
    seeds = itertools.count(10)

    def is_hinted() -> bool:
        assert caller.send(predictions_csv(seed=next(seeds))).status == 201
        return bool(valkey.client().llen(QUEUE))

    eventually(is_hinted)
    processes.sweeper(settings)
    eventually(watch.all_scored)
