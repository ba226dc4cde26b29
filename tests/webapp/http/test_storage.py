"""Unreachable storage: uploads rejected with a reason, leaderboards still served."""

import io

import pytest
from sqlalchemy import func, select

from grader.models import Submission
from grader.storage.stores import Storage, open_storage

pytestmark = pytest.mark.both_databases

API = "/api/v1/competitions/toxicity/submissions"


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> Storage:
    """Settings for a bucket at an address that accepts no connections."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    return open_storage("s3://blobs/fairboard")


def test_without_the_bucket_uploads_are_rejected_and_the_leaderboard_works(arena, nowhere: Storage, make_app):
    arena.competition()
    ann = arena.person("Ann")
    parts = {"database": arena.database, "storage": nowhere, "hints": arena.hints}
    browser = make_app(arena.settings, **parts).test_client()
    file = io.BytesIO(arena.truth.predictions()), "predictions.csv"
    answer = browser.post(API, data={"file": file}, headers=ann.bearer)
    assert (answer.status_code, answer.json["error"]) == (503, "storage_unavailable")
    assert answer.headers["Retry-After"] == "5"
    assert browser.get("/competitions/toxicity/leaderboard").status_code == 200
    with arena.database.read() as session:
        assert session.scalar(select(func.count()).select_from(Submission)) == 0
