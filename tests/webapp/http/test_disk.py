"""Full disks: uploads rejected with a clear error, pages still served."""

import errno
import io
import os
import sqlite3

import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError

from grader.models import Submission
from grader.storage import disk

SENTENCE = (
    "The server has no disk space left, so your file was not accepted. This upload does not count as a "
    "submission. Try again later."
)
API = "/api/v1/competitions/toxicity/submissions"
PAGE = "/competitions/toxicity/submit"


@pytest.fixture
def ann(arena):
    arena.competition()
    return arena.person("Ann")


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("grader.storage.disk.free_bytes", lambda folder: 400_000_000)


def test_below_the_reserve_a_file_is_rejected_before_its_first_byte(arena, ann, short: None):
    answer = _send(arena, ann)
    assert (answer.status_code, answer.json) == (507, {"code": 507, "error": "no_space", "message": SENTENCE})
    assert SENTENCE in _send_on_the_page(arena, ann).text
    assert _count(arena) == 0


def test_below_the_reserve_leaderboards_and_checks_work_and_readiness_fails(arena, ann, short: None):
    browser = arena.app.test_client()
    assert browser.get("/competitions/toxicity/leaderboard").status_code == 200
    assert browser.get("/healthz").status_code == 200
    assert _send(arena, ann, "/api/v1/competitions/toxicity/check").json["is_clean"]
    answer = browser.get("/readyz")
    assert (answer.status_code, answer.json["checks"]) == (503, {"database": True, "disk": False})


def test_the_reserve_applies_after_the_file_is_stored(arena, ann, monkeypatch: pytest.MonkeyPatch):
    reserve = arena.settings.disk_reserve_mb * 1_000_000
    monkeypatch.setattr("grader.storage.disk.free_bytes", lambda folder: reserve + 1000)
    assert _send(arena, ann).status_code == 507
    monkeypatch.setattr("grader.storage.disk.free_bytes", lambda folder: reserve + 1_000_000)
    assert _send(arena, ann).status_code == 201


def test_an_upload_that_fills_the_disk_leaves_nothing_and_can_be_repeated(
    arena, ann, monkeypatch: pytest.MonkeyPatch
):
    def full(descriptor: int):
        raise OSError(errno.ENOSPC, "No space left on device")

    before = _files(arena)
    with monkeypatch.context() as patch:
        patch.setattr("grader.storage.stores.os.fsync", full)
        answer = _send(arena, ann)
    assert (answer.status_code, answer.json["message"]) == (507, SENTENCE)
    assert (_count(arena), _files(arena)) == (0, before)
    assert _send(arena, ann).status_code == 201


def test_a_full_database_disk_is_distinguished_from_a_broken_database():
    full, broken = sqlite3.OperationalError("database or disk is full"), sqlite3.OperationalError("locked")
    full.sqlite_errorcode, broken.sqlite_errorcode = sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY
    assert disk.is_full(OperationalError("INSERT", {}, full))
    assert not disk.is_full(OperationalError("INSERT", {}, broken))
    assert not disk.is_full(PermissionError(errno.EACCES, "no"))


def test_a_session_works_when_its_last_use_cannot_be_recorded(arena, ann, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object, **__: object):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("grader.services.identity.logins.needs_touch", lambda used, now: True)
    monkeypatch.setattr("grader.services.identity.logins.touch", full)
    assert ann.browser.get("/competitions/toxicity/leaderboard").status_code == 200


def _send(arena, person, path: str = API):
    return arena.app.test_client().post(path, data={"file": _file(arena)}, headers=person.bearer)


def _send_on_the_page(arena, person):
    return person.post(PAGE, {"file": _file(arena)}, headers={"Accept": "text/html"})


def _file(arena):
    return io.BytesIO(arena.truth.predictions()), "predictions.csv"


def _count(arena) -> int:
    with arena.database.read() as session:
        return session.scalar(select(func.count()).select_from(Submission)) or 0


def _files(arena) -> set[str]:
    blobs = arena.settings.data_dir / "blobs"
    return {name for _, _, names in os.walk(blobs) for name in names}
