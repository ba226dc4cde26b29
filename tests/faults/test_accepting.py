"""Kills of web processes at every step of an upload, and retries with the same key."""

import contextlib
import itertools
import os
import socket
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import select

from grader.models import ScoringJob, Submission
from grader.settings import Settings
from grader.storage import blobs
from grader.worker.broker import QUEUE
from tests.fixtures.patience import HANG_SECONDS
from tests.fixtures.web import BOUNDARY, form

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
def settings(make_settings: Callable[..., Settings]) -> Settings:
    return make_settings(web_workers=1, web_threads=4, disk_reserve_mb=0)


@pytest.fixture
def crashing_web(web, wrapped: Callable[[str], dict[str, str]], tmp_path: Path):
    """A web server whose worker process can be killed by a request; the master process replaces it."""
    (tmp_path / "spool").mkdir()
    environment = wrapped(CRASHING) | {"TMPDIR": str(tmp_path / "spool")}
    web.start("--preload", application="wrapped:app", **environment)
    return web


def ids(service) -> list[int]:
    with service.database.read() as session:
        return list(session.scalars(select(Submission.id).order_by(Submission.id)))


def files_below(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def score_everything(service):
    with service.database.read() as session:
        job_ids = session.scalars(select(ScoringJob.id)).all()
    service.run(*job_ids)


def test_retry_with_the_same_key_after_any_crash_creates_one_submission(
    service,
    crashing_web,
    make_token,
    predictions_csv,
    check_invariants,
):
    service.competition(max_daily_submissions=10)
    caller = crashing_web.caller(make_token())
    acknowledged: dict[int, str] = {}
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
        with service.database.read() as session:
            acknowledged[answer.data["id"]] = session.get_one(Submission, answer.data["id"]).sha256
    score_everything(service)
    check_invariants(service.database, service.storage, acknowledged=acknowledged)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.long
def test_leftovers_of_a_killed_web_process_are_no_submission_and_are_removed(
    service, crashing_web, make_token, predictions_csv, eventually, tmp_path: Path
):
    service.competition()
    token = make_token()
    blob_folder = service.settings.data_dir / "blobs"
    clean = files_below(blob_folder)
    _send_half_and_kill(crashing_web, token, predictions_csv(seed=1), eventually)
    assert (ids(service), files_below(blob_folder), files_below(tmp_path / "spool")) == ([], clean, set())
    for seed, point in enumerate(("blob.before_rename", "accept.after_blob"), 2):
        with pytest.raises(ConnectionError):
            crashing_web.caller(token).send(predictions_csv(seed=seed), Crash_At=point)
    left = files_below(blob_folder) - clean
    assert (ids(service), len(left)) == ([], 2)
    _make_old(*left)
    assert service.storage.remove_abandoned() == 1
    assert blobs.collect(service.database, service.storage).count == 1
    assert files_below(blob_folder) == clean
    answer = crashing_web.caller(token).send(predictions_csv(seed=1), key="again")
    assert (answer.status, ids(service)) == (201, [answer.data["id"]])


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_web_accepts_files_without_a_broker_and_sends_hints_again_after_it_returns(
    service,
    make_web,
    make_settings: Callable[..., Settings],
    make_token,
    predictions_csv,
    valkey,
    processes,
    eventually,
    watch,
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


def _send_half_and_kill(web, token: str, content: bytes, eventually):
    """Send half of an upload, kill its reader, and assert that no response arrives."""
    body = form(content)
    head = (
        "POST /api/v1/competitions/toxicity/submissions HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {token}\r\nContent-Type: multipart/form-data; boundary={BOUNDARY}\r\n"
        f"Content-Length: {len(body)}\r\nIdempotency-Key: again\r\n\r\n"
    )
    [worker] = web.workers(web.children[0])
    with socket.create_connection(web.address, timeout=HANG_SECONDS) as connection:
        own_port = connection.getsockname()[1]
        connection.sendall(head.encode() + body[: len(body) // 2])
        eventually(
            lambda: any(each.raddr and each.raddr.port == own_port for each in worker.net_connections())
        )
        time.sleep(0.1)  # Give the process time to start reading the body.
        worker.kill()
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(1000) == b""


def _make_old(*paths: Path):
    long_ago = (datetime.now().astimezone() - timedelta(days=2)).timestamp()
    for path in paths:
        os.utime(path, (long_ago, long_ago))
