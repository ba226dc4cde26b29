"""What a password may be."""

import pytest

from grader.services import password_rules
from grader.services.password_rules import problem

COMMON = "one of the passwords that many people have"


@pytest.mark.parametrize(
    "password",
    [
        "password",
        "PASSWORD",
        "Password1",
        "password123!",
        "qwertyuiop",
        "12345678",
        "qwerty2024",
        "!!letmein!!",
        "iloveyou",
        "1q2w3e4r",
        "pass word",
        "trustno1",
        "\uff50assword",
    ],
)
def test_passwords_that_many_people_have_are_refused_with_the_reason(password: str) -> None:
    assert COMMON in (problem(password, name="Ada") or "")


@pytest.mark.parametrize("password", ["Ada Lovelace", "adalovelace", "AdaLovelace1", "*ada lovelace*"])
def test_the_persons_own_name_is_refused(password: str) -> None:
    assert "cannot be the name," in (problem(password, name="Ada Lovelace") or "")


@pytest.mark.parametrize("password", ["fairboard", "Fairboard1", "FAIRBOARD2026"])
def test_the_name_of_the_site_is_refused(password: str) -> None:
    assert "the name of the site" in (problem(password, name="Ada") or "")


def test_length_is_told_first_and_a_long_text_is_looked_at_quickly() -> None:
    assert problem("passwor", name="") == "A password has at least 8 characters; this one has 7."
    assert "at most 1,024 characters" in (problem("x" * 10**6, name="") or "")
    assert "three different" in (problem("11112222", name="") or "")
    assert problem("1a" * 512, name="") == "A password needs at least three different characters."


@pytest.mark.parametrize(
    "password",
    ["correct horse battery", "another good one", "monkey84719264", "the password is long", "tr0ub4dor&3x"],
)
def test_other_passwords_are_taken(password: str) -> None:
    assert problem(password, name="Ada Lovelace") is None


def test_the_list_is_whole_and_clean() -> None:
    words = password_rules._common()
    assert len(words) == 29_095
    assert all(len(word) >= 4 and word == word.lower().strip() and word.isascii() for word in words)
    assert {"password", "letmein", "dragon", "!qaz2wsx"} <= words
