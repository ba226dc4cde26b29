"""Password rules, and the queues for hashing."""

import threading
import time

import pytest

from grader.services.identity import passwords
from grader.services.identity.passwords import BoundedHasher, password_problem
from tests.fixtures.refusals import refused


@pytest.mark.parametrize(
    "password",
    ["passwor", "x" * 1025, "Password2026!", "1q2w3e4r", "abcabcabc", "AdaLovelace2026!", "FAIRBOARD2026"],
)
def test_password_that_is_easy_to_guess_or_has_a_wrong_length_is_rejected(password):
    assert password_problem(password, name="Ada Lovelace")


@pytest.mark.parametrize(
    "password",
    ["correct horse battery", "monkey84719264", "tr0ub4dor&3x", "7#love9$21!&", "aB1!xyz" * 146],
)
def test_other_passwords_are_accepted(password):
    assert password_problem(password, name="Ada Lovelace") is None


@pytest.fixture
def hasher():
    return BoundedHasher(time_cost=1, memory_cost=8)


def test_only_one_password_is_hashed_at_a_time(hasher):
    running, most = [0], [0]

    def hash_one():
        with hasher.turn():
            running[0] += 1
            most[0] = max(most[0], running[0])
            time.sleep(0.001)
            running[0] -= 1

    threads = [threading.Thread(target=hash_one) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]


def test_full_queue_rejects_strangers_immediately_but_not_known_users(hasher, monkeypatch):
    monkeypatch.setattr(passwords, "MOST_WAITING", 2)
    hasher = BoundedHasher(time_cost=1, memory_cost=8)
    with hasher._places[False], hasher._places[False]:
        with refused("too_many_hashes"), hasher.turn():
            pass
        with refused("too_many_hashes"):
            hasher.require_place(is_known=False)
        with hasher.turn(is_known=True):
            assert hasher.hash("a known user")


def test_no_request_waits_longer_than_the_limit(hasher, monkeypatch):
    monkeypatch.setattr(passwords, "WAIT_SECONDS", 0.01)
    with hasher._slots, refused("too_many_hashes"), hasher.turn():
        pass
    with pytest.raises(ZeroDivisionError), hasher.turn():
        raise ZeroDivisionError
    assert hasher.hash("the slot is free again")
