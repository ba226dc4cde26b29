"""Comment templates of the demo: harmless and toxic sentences about many identities.

Dixon et al. (2018) and Borkan et al. (2019) measure unintended bias on sentences generated from templates,
because their labels are known. These templates were written for this project. They are mild, but difficult in
the same ways as real comments: insults are misspelled, toxic sentences may contain no insult, harmless ones
may quote an insult to object to it, and raters disagree.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from numpy.random import Generator

Item = TypeVar("Item")

IDENTITY_WORDS: Mapping[str, tuple[str, ...]] = {
    "male": ("man", "father", "brother", "husband", "grandfather", "gentleman"),
    "female": ("woman", "mother", "sister", "wife", "grandmother", "lady"),
    "homosexual_gay_or_lesbian": ("gay", "lesbian", "homosexual"),
    "christian": ("christian", "catholic", "protestant"),
    "jewish": ("jewish", "orthodox jewish"),
    "muslim": ("muslim", "sunni"),
    "black": ("black", "african american"),
    "white": ("white", "caucasian"),
    "psychiatric_or_mental_illness": ("bipolar", "schizophrenic", "mentally ill", "depressed"),
}
"""The nine identities of the Jigsaw competition and the words that mention them in the comments."""

IDENTITIES = tuple(IDENTITY_WORDS)
NOUN_IDENTITIES = ("male", "female")
MENTIONS_AT_MOST = 3


def _listed(words: str) -> tuple[str, ...]:
    return tuple(words.split())


PERSONS = _listed(
    """
    teacher neighbour driver writer nurse colleague student reader farmer singer doctor baker
    cyclist landlord waiter editor plumber referee
    """
)
DETERMINERS = ("that", "this", "the", "our", "the other", "your", "my")
PLACES = _listed(
    """
    library market station school park museum harbour cinema garden office bakery stadium
    clinic village bridge workshop
    """
)
TOPICS = (
    "the new bus line",
    "the school budget",
    "last night's game",
    "the weather",
    "the local election",
    "a recipe for soup",
    "the price of bread",
    "a crime novel",
    "the noise at night",
    "the broken lift",
    "healthcare",
    "the old theatre",
    "taxes",
    "the river path",
)
TRAITS = _listed(
    """
    friendly patient generous clever brave honest funny calm punctual curious tall talented
    reliable quiet
    """
)
INSULTS = _listed(
    """
    idiot moron fool liar clown coward loser imbecile crook creep fraud weasel halfwit
    hypocrite buffoon
    """
)
SLIGHTS = _listed(
    """
    stupid pathetic disgusting worthless shallow ridiculous dumb vile brainless revolting
    hopeless
    """
)
OPENERS = (
    "Honestly, ",
    "Well, ",
    "For once I agree: ",
    "Not sure about the article, but ",
    "Yesterday I noticed something: ",
    "To be clear, ",
    "I said it before: ",
    "Thanks for the report, and ",
)
CLOSERS = (
    " That is all I have to say.",
    " See you at the {place}.",
    " The article leaves out {topic}.",
    " Read it again.",
    " I will come back to {topic} tomorrow.",
    " Now back to {topic}.",
    " Has anybody else seen this?",
    " It was in the paper.",
)


@dataclass(frozen=True, slots=True)
class Template:
    """A sentence with slots, and the share of raters who find it toxic."""

    text: str
    toxicity: float


def _templates(toxicity: float, lines: str) -> tuple[Template, ...]:
    return tuple(Template(line.strip(), toxicity) for line in lines.strip().splitlines())


HARMLESS = (
    *_templates(
        0.02,
        """
        {who} told us about {topic} at the {place}.
        I met {who} near the {place} and we talked about {topic}.
        {who} is the most {trait} person at the {place}.
        {who} and I have been friends since school.
        we thank {who} for the help with {topic}.
        {who} was {trait} and {trait} the whole afternoon.
        {who} wrote a {trait} letter about {topic}.
        the {place} is run by {who}, who is always {trait}.
        my son learned about {topic} from {who}.
        I never knew how {trait} {who} can be.
        {who} waited at the {place} for an hour and stayed {trait}.
        what does {who} think of {topic}?
        {who} lives next to the {place}.
        let {who} speak about {topic} first.
        the council asked {who} about {topic}.
        """,
    ),
    *_templates(
        0.12,
        """
        nobody has the right to call {who} {an_insult}.
        I was {an_insult} to doubt {who}, and I am sorry.
        the film's villain is {an_insult}, and {who} plays him well.
        {who} had to watch a {slight} film at the {place}.
        somebody shouted "{insult}" at {who}, and the whole {place} objected.
        what a {slight} day, said {who}, and laughed about {topic}.
        {who} is not {an_insult}, whatever they say at the {place}.
        my dog is {an_insult}, and {who} loves him for it.
        """,
    ),
    *_templates(
        0.34,
        """
        {who} has no idea what {topic} costs.
        I am tired of {who} complaining about {topic}.
        {who} wasted our time at the {place} again.
        that was a {slight} decision about {topic}, and {who} made it.
        {who} should have read the article first.
        I do not believe a word of what {who} says about {topic}.
        """,
    ),
)
HARMFUL = (
    *_templates(
        0.93,
        """
        {who} is {an_insult}.
        {who} is nothing but a {slight} {insult}.
        shut up about {topic}, you {slight} {insult}, and take {who} with you.
        what {an_insult} {who} is, {slight} and proud of it.
        only {an_insult} like {who} could be that {slight}.
        go away, {insult}, and tell {who} the same.
        {who} makes me sick, what a {slight} {insult}.
        {who} is too {slight} to understand {topic}.
        every word from {who} about {topic} is {slight}.
        they should throw {who} out of the {place}, the {slight} {insult}.
        """,
    ),
    *_templates(
        0.8,
        """
        nobody at the {place} wants to hear another word from {who}.
        we would all be better off if {who} left this town for good.
        I hope {who} loses everything.
        people like {who} should never be asked about anything.
        somebody ought to teach {who} a painful lesson.
        keep {who} away from our {place} and away from our children.
        {who} does not deserve to have friends.
        who on earth let {who} near {topic}?
        """,
    ),
    *_templates(
        0.62,
        """
        {who} is lying about {topic}, as usual, and enjoys it.
        I laughed when {who} fell down at the {place}.
        {who} cannot even spell, and wants to decide about {topic}.
        typical, {who} thinks the {place} belongs to people like that.
        take your {slight} opinion on {topic} somewhere else.
        """,
    ),
)

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
        sentence = _pick(rng, OPENERS) + sentence
    if rng.random() < 0.5:
        sentence += _fill(rng, _pick(rng, CLOSERS), who="")
    return Comment(sentence[0].upper() + sentence[1:], template.toxicity, tuple(drawn))


@cache
def _common(templates: tuple[Template, ...]) -> tuple[Template, ...]:
    return tuple(template for at, template in enumerate(templates) if at % 5 < 3)


def _fill(rng: Generator, text: str, *, who: str) -> str:
    """Fill each slot of a template with a new random word, even if the slot occurs twice."""
    draws: dict[str, Callable[[], str]] = {
        "place": lambda: _pick(rng, PLACES),
        "topic": lambda: _pick(rng, TOPICS),
        "trait": lambda: _pick(rng, TRAITS),
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
    noun = " and ".join(nouns) or _pick(rng, PERSONS)
    return " ".join([_pick(rng, DETERMINERS), *adjectives, noun])


def _with_article(rng: Generator, word: str) -> str:
    return ("an " if word[0] in "aeiou" else "a ") + _disguise(rng, word)


def _disguise(rng: Generator, word: str) -> str:
    """Misspell a quarter of the unkind words, as people do to bypass filters."""
    if rng.random() >= DISGUISED_SHARE:
        return word
    return word.translate(_DISGUISES) if rng.random() < 0.5 else word[:2] + word[1] * 2 + word[2:]


def _pick(rng: Generator, items: Sequence[Item]) -> Item:
    return items[int(rng.random() * len(items))]
