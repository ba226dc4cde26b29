"""Password hashing queue: concurrency, priorities, rejections."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from grader.services.identity import passwords
from grader.services.identity.passwords import BoundedHasher, TooManyHashes


@pytest.fixture
def hasher() -> BoundedHasher:
    return BoundedHasher(time_cost=1, memory_cost=8)


@contextmanager
def line(hasher: BoundedHasher, known: list[bool]) -> Iterator[list[str]]:
    """Queue threads one after another while one hash is being computed; return their outcomes."""
    ends: list[str] = []

    def wait(number: int, is_known: bool):
        try:
            with hasher.turn(is_known=is_known):
                ends.append(f"{number}")
        except TooManyHashes:
            ends.append(f"{number} away")

    threads = [threading.Thread(target=wait, args=each) for each in enumerate(known)]
    with hasher.turn():
        for number, thread in enumerate(threads):
            thread.start()
            while sum(map(len, hasher._waiting.values())) + len(ends) <= number:
                time.sleep(0.001)
        yield ends
    for thread in threads:
        thread.join()


def test_hash_verifies_its_password_and_no_other(hasher: BoundedHasher):
    stored = hasher.hash("correct horse battery")
    assert hasher.verify(stored, "correct horse battery")
    with hasher.turn():
        assert hasher.verify(stored, "correct horse battery")


def test_hashing_is_sequential_in_order_of_arrival_with_known_users_first(
    hasher: BoundedHasher, monkeypatch: pytest.MonkeyPatch
):
    for name in ("WAIT_SECONDS", "KNOWN_WAIT_SECONDS"):
        monkeypatch.setattr(passwords, name, 100)
    with line(hasher, [False, False, True, False, True]) as ends:
        assert ends == []
    assert ends == ["2", "4", "0", "1", "3"]


def test_long_queue_rejects_strangers_immediately_and_keeps_a_slot_for_known_users(
    hasher: BoundedHasher, monkeypatch: pytest.MonkeyPatch
):
    for name in ("WAIT_SECONDS", "KNOWN_WAIT_SECONDS"):
        monkeypatch.setattr(passwords, name, 100)
    monkeypatch.setattr(passwords, "MOST_WAITING", 4)
    strangers = [False] * (passwords.MOST_WAITING + 2)
    with line(hasher, [*strangers, True]) as ends:
        assert sorted(ends) == ["4 away", "5 away"]
    assert ends[2:] == ["6", "0", "1", "2", "3"]


def test_no_request_waits_longer_than_the_limit(hasher: BoundedHasher, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(passwords, "WAIT_SECONDS", 0.05)
    with line(hasher, [False]) as ends:
        while not ends:
            time.sleep(0.001)
    assert ends == ["0 away"]
    assert hasher.hash("the line is empty again")


def test_error_while_hashing_releases_the_slot(hasher: BoundedHasher):
    with pytest.raises(ZeroDivisionError), hasher.turn():
        raise ZeroDivisionError
    assert hasher.hash("next")
