"""Comment templates of the demo: harmless and toxic sentences about many identities.

Dixon et al. (2018) and Borkan et al. (2019) measure unintended bias on sentences generated from templates,
because their labels are known. These templates were written for this project. They are mild, but difficult in
the same ways as real comments: insults are misspelled, toxic sentences may contain no insult, harmless ones
may quote an insult to object to it, and raters disagree.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from numpy.random import Generator

Item = TypeVar("Item")

_CORPUS: Mapping[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
IDENTITY_WORDS: Mapping[str, tuple[str, ...]] = {
    name: tuple(words) for name, words in _CORPUS["identities"].items()
}
"""The nine identities of the Jigsaw competition and the words that mention them in the comments."""

IDENTITIES = tuple(IDENTITY_WORDS)
NOUN_IDENTITIES = ("male", "female")
MENTIONS_AT_MOST = 3
INSULTS, SLIGHTS = tuple(_CORPUS["insults"]), tuple(_CORPUS["slights"])


@dataclass(frozen=True, slots=True)
class Template:
    """A sentence with slots, and the share of raters who find it toxic."""

    text: str
    toxicity: float


def _templates(name: str) -> tuple[Template, ...]:
    return tuple(Template(text, each["toxicity"]) for each in _CORPUS[name] for text in each["sentences"])


HARMLESS, HARMFUL = _templates("harmless"), _templates("harmful")
_DISGUISES = str.maketrans({"i": "1", "o": "0", "e": "3", "a": "@"})
DISGUISED_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Comment:
    """A generated comment: its text, the share of raters who find it toxic, and its identities."""

    text: str
    toxicity: float
    identities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Forum:
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
    templates = HARMFUL if harmful else HARMLESS
    template = _pick(rng, templates if forum.rare_templates else _common(templates))
    if "{who}" not in template.text:
        drawn = []
    sentence = _fill(rng, template.text, who=_describe(rng, drawn))
    if rng.random() < 0.3:
        sentence = _pick(rng, _CORPUS["openers"]) + sentence
    if rng.random() < 0.5:
        sentence += _fill(rng, _pick(rng, _CORPUS["closers"]), who="")
    return Comment(sentence[0].upper() + sentence[1:], template.toxicity, tuple(drawn))


@cache
def _common(templates: tuple[Template, ...]) -> tuple[Template, ...]:
    return tuple(template for at, template in enumerate(templates) if at % 5 < 3)


def _fill(rng: Generator, text: str, *, who: str) -> str:
    """Fill each slot of a template with a new random word, even if the slot occurs twice."""
    draws: dict[str, Callable[[], str]] = {
        "place": lambda: _pick(rng, _CORPUS["places"]),
        "topic": lambda: _pick(rng, _CORPUS["topics"]),
        "trait": lambda: _pick(rng, _CORPUS["traits"]),
        "slight": lambda: _disguise(rng, _pick(rng, SLIGHTS)),
        "insult": lambda: _disguise(rng, _pick(rng, INSULTS)),
        "an_insult": lambda: _with_article(rng, _pick(rng, INSULTS)),
        "who": lambda: who,
    }
    for slot, draw in draws.items():
        while f"{{{slot}}}" in text:
            text = text.replace(f"{{{slot}}}", draw(), 1)
    return text


def _describe(rng: Generator, identities: Sequence[str]) -> str:
    """Return a phrase such as "that gay teacher" or "our black muslim sister"."""
    adjectives = [_pick(rng, IDENTITY_WORDS[name]) for name in identities if name not in NOUN_IDENTITIES]
    nouns = [_pick(rng, IDENTITY_WORDS[name]) for name in identities if name in NOUN_IDENTITIES]
    noun = " and ".join(nouns) or _pick(rng, _CORPUS["persons"])
    return " ".join([_pick(rng, _CORPUS["determiners"]), *adjectives, noun])


def _with_article(rng: Generator, word: str) -> str:
    return ("an " if word[0] in "aeiou" else "a ") + _disguise(rng, word)


def _disguise(rng: Generator, word: str) -> str:
    """Misspell a quarter of the unkind words, as people do to bypass filters."""
    if rng.random() >= DISGUISED_SHARE:
        return word
    return word.translate(_DISGUISES) if rng.random() < 0.5 else word[:2] + word[1] * 2 + word[2:]


def _pick(rng: Generator, items: Sequence[Item]) -> Item:
    return items[int(rng.random() * len(items))]
