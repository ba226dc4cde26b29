"""Retries of database writes after transient errors, and propagation of other errors."""

from collections.abc import Iterator

import psycopg
import pytest

from grader.worker.retrying import insist


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr("grader.worker.retrying.PAUSE_SECONDS", 0)


def failing(*errors):
    """Return a function that raises these errors one after another and then succeeds."""
    left: Iterator[Exception] = iter(errors)

    def write() -> str:
        for error in left:
            raise error
        return "written"

    return write


def test_unavailable_or_full_database_is_retried(caplog):
    away, full = psycopg.OperationalError("The connection is gone."), OSError(28, "No space left on device")
    assert insist(failing(away, full, away)) == "written"
    assert len(caplog.records) == 1


def test_other_error_is_raised_immediately():
    with pytest.raises(ZeroDivisionError):
        insist(failing(ZeroDivisionError()))


def test_retries_end():
    with pytest.raises(psycopg.OperationalError):
        insist(failing(psycopg.OperationalError()), patience_seconds=0)
