"""Full disks and unreachable storage: uploads rejected with a reason, pages still served."""

import errno
import io
import os
import sqlite3

import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError

from grader.models import Submission
from grader.storage import disk
from grader.storage.stores import open_storage

API = "/api/v1/competitions/toxicity/submissions"
PAGE = "/competitions/toxicity/submit"
BOARD = "/competitions/toxicity/leaderboard"


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr("grader.storage.disk.free_bytes", lambda folder: 400_000_000)


def send(arena, person, path=API, app=None):
    client = (app or arena.app).test_client()
    return client.post(path, data={"file": file_of(arena)}, headers=person.bearer)


def file_of(arena):
    return io.BytesIO(arena.truth.predictions()), "predictions.csv"


def count(arena):
    with arena.database.read() as session:
        return session.scalar(select(func.count()).select_from(Submission)) or 0


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_below_the_reserve_a_file_is_rejected_before_its_first_byte(arena, ann, short):
    answer = send(arena, ann)
    assert (answer.status_code, answer.json["error"]) == (507, "no_space")
    page = ann.post(PAGE, {"file": file_of(arena)}, headers={"Accept": "text/html"})
    assert (page.status_code, answer.json["message"] in page.text, count(arena)) == (507, True, 0)


def test_below_the_reserve_leaderboards_and_checks_work_and_readiness_fails(arena, ann, short):
    browser = arena.app.test_client()
    assert browser.get(BOARD).status_code == browser.get("/healthz").status_code == 200
    assert send(arena, ann, "/api/v1/competitions/toxicity/check").json["is_clean"]
    answer = browser.get("/readyz")
    assert (answer.status_code, answer.json["checks"]) == (503, {"database": True, "disk": False})


def test_the_reserve_applies_after_the_file_is_stored(arena, ann, monkeypatch):
    reserve = arena.settings.disk_reserve_mb * 1_000_000
    for more, status in ((1000, 507), (1_000_000, 201)):
        monkeypatch.setattr("grader.storage.disk.free_bytes", lambda _, free=reserve + more: free)
        assert send(arena, ann).status_code == status


def test_an_upload_that_fills_the_disk_leaves_nothing_and_can_be_repeated(arena, ann, monkeypatch):
    def files() -> set[str]:
        return {name for _, _, names in os.walk(arena.settings.data_dir / "blobs") for name in names}

    before = files()
    with monkeypatch.context() as patch:
        patch.setattr("grader.storage.stores.os.fsync", full)
        answer = send(arena, ann)
    assert (answer.status_code, answer.json["error"]) == (507, "no_space")
    assert (count(arena), files()) == (0, before)
    assert send(arena, ann).status_code == 201


def test_a_full_database_disk_is_distinguished_from_a_broken_database():
    for code, is_full in ((sqlite3.SQLITE_FULL, True), (sqlite3.SQLITE_BUSY, False)):
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = code
        assert disk.is_full(OperationalError("INSERT", {}, error)) is is_full
    assert not disk.is_full(PermissionError(errno.EACCES, "no"))


def test_a_session_works_when_its_last_use_cannot_be_recorded(arena, ann, monkeypatch):
    monkeypatch.setattr("grader.services.identity.logins.needs_touch", lambda used, now: True)
    monkeypatch.setattr("grader.services.identity.logins.touch", full)
    assert ann.browser.get(BOARD).status_code == 200


@pytest.mark.both_databases
def test_without_the_bucket_uploads_are_rejected_and_the_leaderboard_works(arena, ann, make_app, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")  # accepts no connections
    nowhere = open_storage("s3://blobs/fairboard")
    app = make_app(arena.settings, database=arena.database, storage=nowhere, hints=arena.hints)
    answer = send(arena, ann, app=app)
    assert (answer.status_code, answer.json["error"]) == (503, "storage_unavailable")
    assert (answer.headers["Retry-After"], count(arena)) == ("5", 0)
    assert app.test_client().get(BOARD).status_code == 200
