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
IN_TITLE, IN_HEADING, MOST_IN_TEXT = 2, 6, 4  # what one word counts for


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
        title = chapter.title.lower()
        for section in chapter.sections:
            weights = [_weight(word, section) for word in words]
            if any(weights) and all(
                weight or word in title for word, weight in zip(words, weights, strict=True)
            ):
                yield sum(weights) + IN_TITLE * sum(word in title for word in words), chapter, section


def _weight(word: str, section: Section) -> float:
    """Return how much a section is about a word; 0 if it does not contain it."""
    heading = section.heading.lower()
    in_heading = IN_HEADING * (1 + len(word) / len(heading)) if word in heading else 0
    return in_heading + min(section.text.lower().count(word), MOST_IN_TEXT)


def _hit(chapter: Chapter, section: Section, words: list[str]) -> Hit:
    marked = re.compile("|".join(map(re.escape, words)), re.IGNORECASE)
    first = re.search(re.escape(words[0]), section.text, re.IGNORECASE) or marked.search(section.text)
    start = max(0, first.start() - AROUND) if first else 0
    start = section.text.find(" ", start) + 1 if start else 0  # at a word's begin
    excerpt = section.text[start : start + 2 * AROUND].rsplit(" ", 1)[0]
    pieces = [escape(part) for part in re.split(f"({marked.pattern})", excerpt, flags=re.IGNORECASE)]
    pieces[1::2] = [Markup("<mark>{}</mark>").format(piece) for piece in pieces[1::2]]
    place = address(chapter.name, section.anchor)
    return Hit(chapter.title, section.heading, place, Markup().join([escape("… " if start else ""), *pieces]))
