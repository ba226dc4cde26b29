"""Password rules."""

import random
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.services.identity import passwords
from grader.services.identity.passwords import password_problem

COMMON = "based on a common password"


COMMON_ONES = """
password, PASSWORD, Password1, password123!, qwertyuiop, 12345678, qwerty2024, !!letmein!!, iloveyou, 1q2w3e4r
pass word, trustno1, \uff50assword, Password2026!, PASSWORD2026!!, !!Dragon-2026!
2026_letmein!, Trustno12026!, pass word 2026!
"""


REJECTED = {
    COMMON: [*re.split(", |\n", COMMON_ONES.strip()), "passwordpassword"],
    "based on the account name,": [
        *("Ada Lovelace", "adalovelace", "AdaLovelace1", "*ada lovelace*", "AdaLovelace2026!")
    ],
    "the site's name": ["fairboard", "Fairboard1", "FAIRBOARD2026", "Fairboard#2026!"],
    "repeats a short text": ["abcabcabc", "19901990", "Abcabcabcab!"],
    "a name with a common password,": [
        *("adalovelacepassword", "PasswordAdaLovelace", "Ada.Lovelace.Password1", "fairboard-dragon")
    ],
}


@pytest.mark.parametrize(
    ("reason", "password"), [(reason, each) for reason, rejected in REJECTED.items() for each in rejected]
)
def test_password_is_rejected_with_the_reason(reason: str, password: str):
    assert reason in (password_problem(password, name="Ada Lovelace") or "")


def test_phrase_repeated_is_accepted():
    assert password_problem("correct horse correct horse", name="Ada") is None


def test_length_is_reported_first_and_a_long_text_is_checked_quickly():
    assert password_problem("passwor", name="") == "The password has 7 characters. Use at least 8."
    assert "has 1,000,000 characters. Use at most 1,024." in (password_problem("x" * 10**6, name="") or "")
    assert "three different" in (password_problem("11112222", name="") or "")
    assert password_problem("1a" * 512, name="") == "The password needs at least three different characters."


OTHERS = """
correct horse battery, another good one, monkey84719264, the password is long, tr0ub4dor&3x, 7#love9$21!&
dragon!!!!!2026, monkey dragon 2026!
"""


@pytest.mark.parametrize("password", re.split(", |\n", OTHERS.strip()))
def test_other_passwords_are_accepted(password: str):
    assert password_problem(password, name="Ada Lovelace") is None


def any_case(word: str, how: int) -> str:
    return (word, word.capitalize(), word.upper(), word.swapcase())[how]


marks = st.text("!?.#*$-_&+@", max_size=2)


@given(
    st.sampled_from(sorted(passwords._common())),
    st.integers(0, 3),
    marks,
    st.one_of(st.just(""), st.integers(1, 9999).map(str)),
    marks,
    st.booleans(),
)
def test_common_word_with_digits_and_punctuation_is_rejected_in_any_letter_case(
    word: str, how: int, before: str, number: str, after: str, is_ahead: bool
):
    around = (before + number, after) if is_ahead else (before, number + after)
    password = any_case(word, how).join(around)
    if len(password) >= passwords.MIN_LENGTH and len(set(password)) >= 3:
        problem = password_problem(password, name="") or ""
        # The second problem occurs for 143143 with 14, for example.
        assert COMMON in problem or "repeats a short text" in problem


def test_none_of_ten_thousand_good_passwords_is_rejected():
    draw = random.Random(2026)
    words = sorted(passwords._common())
    characters = string.ascii_letters + string.digits + string.punctuation
    good = [
        make()
        for _ in range(2_500)
        for make in (
            lambda: "".join(draw.choices(characters, k=10)),
            lambda: "".join(draw.choices(string.ascii_lowercase + string.digits, k=12)),
            lambda: draw.choice(" -.").join(draw.choices(words, k=3)),
            lambda: "".join(word.capitalize() for word in draw.choices(words, k=3)) + "2026!",
        )
    ]
    assert sum(password_problem(password, name="Ada Lovelace") is not None for password in good) == 0


def test_list_of_common_passwords_is_complete_and_clean():
    words = passwords._common()
    assert len(words) == 29_095
    assert all(len(word) >= 4 and word == word.lower().strip() and word.isascii() for word in words)
    assert {"password", "letmein", "dragon", "!qaz2wsx"} <= words
