"""The search of the documentation: the sections that have every word, the best first."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from markupsafe import Markup, escape

from webapp.documentation.chapters import Chapter, address
from webapp.documentation.rendering import Section

MOST = 30
WORDS_MAX = 8
AROUND = 90  # characters of text before and after the first word found
IN_TITLE, IN_HEADING, IN_TEXT = 2, 6, 1  # what one word counts for
COUNTED_IN_TEXT = 4


@dataclass(frozen=True)
class Hit:
    """One section that was found."""

    chapter: str
    heading: str
    address: str
    excerpt: Markup


def search(chapters: Iterable[Chapter], query: str) -> tuple[list[Hit], int]:
    """Return the best sections for a query, and how many have its words, those of the title included."""
    words = re.findall(r"\w+", query.lower())[:WORDS_MAX]
    if not words:
        return [], 0
    found = sorted(_found(chapters, words), key=lambda each: -each[0])
    return [_hit(chapter, section, words) for _, chapter, section in found[:MOST]], len(found)


def _found(chapters: Iterable[Chapter], words: list[str]) -> Iterator[tuple[float, Chapter, Section]]:
    for chapter in chapters:
        for section in chapter.sections:
            weights = [_weight(word, section) for word in words]
            of_title = [IN_TITLE * (word in chapter.title.lower()) for word in words]
            if any(weights) and all(map(max, weights, of_title)):
                yield sum(weights) + sum(of_title), chapter, section


def _weight(word: str, section: Section) -> float:
    """Return how much a section is about a word; 0 where it does not have it."""
    heading, text = section.heading.lower(), section.text.lower()
    found = float(min(text.count(word), COUNTED_IN_TEXT) * IN_TEXT)
    if word in heading:
        found += IN_HEADING * (1 + len(word) / len(heading))  # a heading that is the word and no more is best
    return found


def _hit(chapter: Chapter, section: Section, words: list[str]) -> Hit:
    marked = re.compile("|".join(map(re.escape, words)), re.IGNORECASE)
    first = re.search(re.escape(words[0]), section.text, re.IGNORECASE) or marked.search(section.text)
    start = max(0, first.start() - AROUND) if first else 0
    start = section.text.find(" ", start) + 1 if start else 0  # at a word's begin
    excerpt = section.text[start : start + 2 * AROUND].rsplit(" ", 1)[0] if section.text else ""
    place = address(chapter.name, section.anchor)
    return Hit(chapter.title, section.heading, place, _marked(marked, excerpt, is_cut=start > 0))


def _marked(words: re.Pattern[str], text: str, *, is_cut: bool) -> Markup:
    parts, end = ["… " if is_cut else ""], 0
    for found in words.finditer(text):
        parts += [str(escape(text[end : found.start()])), f"<mark>{escape(found[0])}</mark>"]
        end = found.end()
    return Markup("".join([*parts, str(escape(text[end:]))]))  # noqa: S704 - each part is escaped
