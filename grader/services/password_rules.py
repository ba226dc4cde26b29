"""What a password may be: long enough, and none that is tried first."""

import re
from functools import cache
from importlib import resources

from grader.services import names

MIN_LENGTH = 8
MAX_LENGTH = 1024
SITE_NAMES = ("Fairboard",)
# Digits and marks at the ends of a word are tried with it; a longer addition is a secret of its own.
_MOST_ADDED = 4
_WORD = re.compile(r"[\W\d_]*(.*?)[\W\d_]*", re.DOTALL)


def problem(password: str, *, name: str) -> str | None:
    """Return the sentence that says why this cannot be the password of the person `name`, None if it can."""
    if len(password) < MIN_LENGTH:
        return f"A password has at least {MIN_LENGTH} characters; this one has {len(password)}."
    if len(password) > MAX_LENGTH:
        return f"A password has at most {MAX_LENGTH:,} characters; this one has {len(password):,}."
    if len(set(password)) < 3:
        return "A password needs at least three different characters."
    tried = {names.folded(password), _word(password)}
    if name and not tried.isdisjoint({names.folded(name), _word(name)}):
        return "A password cannot be the name, with or without some digits: it is tried first."
    if not tried.isdisjoint(names.folded(each) for each in SITE_NAMES):
        return "A password cannot be the name of the site, with or without some digits: it is tried first."
    if not tried.isdisjoint(_common()):
        return (
            "This is one of the passwords that many people have, with or without some digits: it is tried "
            "first. Take a longer one, such as three words that have nothing to do with each other."
        )
    return None


def _word(password: str) -> str:
    """Return a password in small letters without the few digits and marks at its ends, and without spaces."""
    plain = names.folded(password).replace(" ", "")
    found = _WORD.fullmatch(plain)
    word = found[1] if found else ""
    return word if word and len(plain) - len(word) <= _MOST_ADDED else plain


@cache
def _common() -> frozenset[str]:
    text = resources.files("grader.services").joinpath("common_passwords.txt").read_text("utf-8")
    return frozenset(line for line in text.splitlines() if not line.startswith("#"))
