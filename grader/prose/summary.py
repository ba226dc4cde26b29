"""One line that says what a competition is about: the first paragraph of its overview, as plain text."""

import itertools
from collections.abc import Iterable, Iterator

from markdown_it.token import Token

from grader.prose.markdown import MARKDOWN

MAX_LENGTH = 170
_SENTENCE_ENDS = (". ", "? ", "! ", "。")


def first_line(text: str) -> str:
    """Return the first paragraph of a Markdown text, cut after a sentence or else at a word; "" without."""
    tokens = MARKDOWN.parse(text)
    for before, token in itertools.pairwise(tokens):
        if before.type == "paragraph_open" and before.level == 0:
            words = " ".join("".join(_plain(token.children or ())).split())
            if words:
                return cut(words, MAX_LENGTH)
    return ""


def cut(words: str, length: int) -> str:
    """Return a text of at most this length, cut after a sentence if that keeps a third, else at a word."""
    if len(words) <= length:
        return words
    kept = words[:length]
    end = max(kept.rfind(each) for each in _SENTENCE_ENDS)
    if end >= length // 3:
        return kept[: end + 1]
    return (kept[: length - 1].rpartition(" ")[0] or kept[: length - 1]).rstrip(" ,;:") + "…"


def _plain(tokens: Iterable[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type in ("softbreak", "hardbreak"):
            yield " "
        elif token.type in ("text", "code_inline") or token.type.startswith("math_inline"):
            yield token.content
