"""Password rules: the minimum length, and common passwords that are refused."""

import re
from functools import cache
from importlib import resources

from grader.services.people import names

MIN_LENGTH = 8
MAX_LENGTH = 1024
SITE_NAMES = ("Fairboard",)
# What is tried with a word at its ends: a few digits and marks in any order, or a number, as a year is, and
# marks. A longer addition is a secret of its own.
_MOST_ADDED = 4
_MOST_DIGITS = 4
_MOST_MARKS = 4
_ADDED = re.compile(r"[\W\d_]*")
_MARKS = re.compile(r"[\W_]")
_NUMBER = re.compile(r"\d+")


def problem(password: str, *, name: str) -> str | None:
    """Return the sentence that says why this cannot be the password of the person `name`, None if it can."""
    if len(password) < MIN_LENGTH:
        return f"A password has at least {MIN_LENGTH} characters; this one has {len(password)}."
    if len(password) > MAX_LENGTH:
        return f"A password has at most {MAX_LENGTH:,} characters; this one has {len(password):,}."
    if len(set(password)) < 3:
        return "A password needs at least three different characters."
    tried = {names.folded(password), *_words(password)}
    units = {unit for each in tried if len(each) >= MIN_LENGTH and (unit := _unit(each)) != each}
    if any(len(unit) < MIN_LENGTH for unit in units):
        return "A password cannot be a short text repeated: attackers try it first."
    tried |= units
    if name and not tried.isdisjoint({names.folded(name), *_words(name)}):
        return "A password cannot be the account name, with or without digits: attackers try it first."
    if not tried.isdisjoint(names.folded(each) for each in SITE_NAMES):
        return "A password cannot be the name of the site, with or without digits: attackers try it first."
    if not tried.isdisjoint(_common()):
        return (
            "This is one of the passwords that many people have, with or without some digits: it is tried "
            "first. Take a longer one, such as three words that have nothing to do with each other."
        )
    joined = {_MARKS.sub("", each) for each in tried}
    for own in filter(None, (_MARKS.sub("", names.folded(each)) for each in (name, *SITE_NAMES))):
        rests = {rest for each in joined for rest in (each.removeprefix(own), each.removesuffix(own))}
        if not (rests - joined).isdisjoint(_common()):
            return "A password cannot be a name with a common password: attackers try it first."
    return None


def _unit(text: str) -> str:
    """Return the text that is repeated twice or more to make a text, else the text itself."""
    for length in range(1, len(text) // 2 + 1):
        if text.startswith(text[length:]):
            return text[:length]
    return text


def _words(password: str) -> set[str]:
    """Return what a password may be in small letters without spaces and what was added at its ends."""
    plain = names.folded(password).replace(" ", "")
    ahead, behind = _added(plain), _added(plain[::-1])
    return {
        plain[before : len(plain) - after]
        for before in range(ahead + 1)
        for after in range(min(behind, len(plain) - before - 1) + 1)
        if _is_tried(plain[:before], plain[len(plain) - after :])
    }


def _added(text: str) -> int:
    """Return how many digits and marks, of those that can be an addition, a text begins with."""
    found = _ADDED.match(text[: _MOST_DIGITS + _MOST_MARKS])
    return len(found[0]) if found else 0


def _is_tried(before: str, after: str) -> bool:
    """Return whether these digits and marks around a word are tried with it."""
    numbers = [*_NUMBER.findall(before), *_NUMBER.findall(after)]
    digits = sum(map(len, numbers))
    added = len(before) + len(after)
    is_number_and_marks = len(numbers) <= 1 and digits <= _MOST_DIGITS and added - digits <= _MOST_MARKS
    return added <= _MOST_ADDED or is_number_and_marks


@cache
def _common() -> frozenset[str]:
    text = resources.files("grader.services.accounts").joinpath("common_passwords.txt").read_text("utf-8")
    return frozenset(line for line in text.splitlines() if not line.startswith("#"))
