"""Comment templates of the demo: harmless and toxic sentences about many identities.

Dixon et al. (2018) and Borkan et al. (2019) measure unintended bias on sentences generated from templates,
because their labels are known. These templates were written for this project. They are mild, but difficult in
the same ways as real comments: insults are misspelled, toxic sentences may contain no insult, harmless ones
may quote an insult to object to it, and raters disagree.
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from numpy.random import Generator

Item = TypeVar("Item")

_CORPUS: Mapping[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
IDENTITY_WORDS: Mapping[str, Sequence[str]] = _CORPUS["identities"]
"""The nine identities of the Jigsaw competition and the words that mention them in the comments."""

IDENTITIES = tuple(IDENTITY_WORDS)
NOUN_IDENTITIES = ("male", "female")
MENTIONS_AT_MOST = 3
INSULTS: Sequence[str] = _CORPUS["insults"]
SLIGHTS: Sequence[str] = _CORPUS["slights"]
SLOTS = ("place", "topic", "trait", "slight", "insult", "an_insult")
DISGUISED_SHARE = 0.25
_DISGUISES = str.maketrans({"i": "1", "o": "0", "e": "3", "a": "@"})


class Comment(NamedTuple):
    """A generated comment: its text, the share of raters who find it toxic, and its identities."""

    text: str
    toxicity: float
    identities: tuple[str, ...]


class Forum(NamedTuple):
    """The distribution of comments in one data set.

    `harmful` and `harmless` contain the share of such comments that mention each identity. Models learn the
    gap between the two as bias. If `rare_templates` is false, some templates are left out, so that models
    first see them in the test data.
    """

    harmful: Mapping[str, float]
    harmless: Mapping[str, float]
    rare_templates: bool


def write_comment(rng: Generator, *, harmful: bool, forum: Forum) -> Comment:
    """Generate a harmful or harmless comment from the distribution of `forum`."""
    shares = forum.harmful if harmful else forum.harmless
    drawn = [name for name in IDENTITIES if rng.random() < shares[name]][:MENTIONS_AT_MOST]
    groups = _CORPUS["harmful" if harmful else "harmless"]
    templates = [(text, each["toxicity"]) for each in groups for text in each["sentences"]]
    if not forum.rare_templates:
        templates = [each for at, each in enumerate(templates) if at % 5 < 3]
    sentence, toxicity = _pick(rng, templates)
    if "{who}" not in sentence:
        drawn = []
    who = _describe(rng, drawn)
    text = _fill(rng, sentence).replace("{who}", who)
    if rng.random() < 0.3:
        text = _pick(rng, _CORPUS["openers"]) + text
    if rng.random() < 0.5:
        text += _fill(rng, _pick(rng, _CORPUS["closers"]))
    return Comment(text[0].upper() + text[1:], toxicity, tuple(drawn))


def _fill(rng: Generator, text: str) -> str:
    """Fill each slot of a template with a new random word, even if the slot occurs twice."""
    for slot in SLOTS:
        while f"{{{slot}}}" in text:
            text = text.replace(f"{{{slot}}}", _word(rng, slot), 1)
    return text


def _word(rng: Generator, slot: str) -> str:
    """Return a random word for a slot such as ``{place}`` or ``{an_insult}``.

    A quarter of the unkind words are misspelled, as people do to bypass filters.
    """
    kind = slot.removeprefix("an_")
    words: list[str] = _CORPUS[f"{kind}s"]
    word = _pick(rng, words)
    article = ("an " if word[0] in "aeiou" else "a ") if slot != kind else ""
    if kind in ("insult", "slight") and rng.random() < DISGUISED_SHARE:
        word = word.translate(_DISGUISES) if rng.random() < 0.5 else word[:2] + word[1] * 2 + word[2:]
    return article + word


def _describe(rng: Generator, identities: Sequence[str]) -> str:
    """Return a phrase such as "that gay teacher" or "our black muslim sister"."""
    adjectives = [_pick(rng, IDENTITY_WORDS[name]) for name in identities if name not in NOUN_IDENTITIES]
    nouns = [_pick(rng, IDENTITY_WORDS[name]) for name in identities if name in NOUN_IDENTITIES]
    noun = " and ".join(nouns) or _pick(rng, _CORPUS["persons"])
    return " ".join([_pick(rng, _CORPUS["determiners"]), *adjectives, noun])


def _pick(rng: Generator, items: Sequence[Item]) -> Item:
    return items[int(rng.random() * len(items))]
