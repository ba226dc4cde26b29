"""The glossary's terms, and where a chapter uses each for the first time."""

import re
from collections.abc import Iterator

from markdown_it.token import Token

# Words of the glossary that chapters use in their everyday sense too: a link there would lead astray.
EVERYDAY = frozenset(
    {
        "all",
        "background",
        "change",
        "check",
        "claim",
        "close",
        "coin",
        "difference",
        "doctor",
        "e-mail",
        "entry",
    }
    | {"final", "finding", "hint", "job", "lease", "mode", "note", "positive", "problem", "release", "retry"}
    | {"selected", "situation", "status", "step", "term", "tied", "twin", "undefined"}
)
ROW = re.compile(r"^\| ([^|]+) \|", re.MULTILINE)


def anchor_of(text: str) -> str:
    """Return the anchor of a heading or a term, as code hosts make it."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def terms_of(cell: str) -> list[str]:
    """Return the terms of a row's first cell."""
    return [term.strip(" `") for term in cell.split(", ")]


class Terms:
    """What the glossary explains: each term's anchor, and how to find the terms in a text."""

    def __init__(self, glossary: str) -> None:
        table = glossary.partition("\n## ")[0]
        cells = ROW.findall(table)[1:]  # after the head
        self.anchors = {term.lower(): anchor_of(term) for cell in cells for term in terms_of(cell)}
        linked = sorted(self.anchors.keys() - EVERYDAY, key=len, reverse=True)
        self._pattern = re.compile(rf"\b(?:{'|'.join(map(_with_plural, linked))})\b", re.IGNORECASE)

    def split(self, text: str, used: set[str]) -> Iterator[tuple[str, str | None]]:
        """Yield the parts of a text, with the anchor where one is a term's first use; note the use."""
        end = 0
        for found in self._pattern.finditer(text):
            place = self.anchor(found[0])
            if place and place not in used:
                used.add(place)
                yield text[end : found.start()], None
                yield found[0], place
                end = found.end()
        yield text[end:], None

    def anchor(self, word: str) -> str | None:
        """Return the anchor of a term, of whatever case and number; None if the glossary lacks it."""
        word = word.lower()
        singular = (word, word.removesuffix("s"), word.removesuffix("es"), re.sub("ies$", "y", word))
        return next((self.anchors[each] for each in singular if each in self.anchors), None)


def link_first_uses(terms: Terms, address: str, tokens: list[Token]) -> None:
    """Let the first use of each term lead to the glossary; headings and links stay as they are."""
    used: set[str] = set()
    outer = ""
    for token in tokens:
        if token.type in ("heading_open", "th_open"):
            outer = token.type
        elif token.type in ("heading_close", "th_close"):
            outer = ""
        elif token.type == "inline" and not outer:
            token.children = list(_linked(token.children or [], terms, used, address))


def _linked(children: list[Token], terms: Terms, used: set[str], address: str) -> Iterator[Token]:
    in_link = False
    for child in children:
        in_link = child.type == "link_open" or (in_link and child.type != "link_close")
        if child.type != "text" or in_link:
            yield child
            continue
        for part, place in terms.split(child.content, used):
            text = Token("text", "", 0, content=part)
            if place is None:
                yield text
            else:
                link: dict[str, str | int | float] = {"href": f"{address}#{place}", "class": "term"}
                yield from (Token("link_open", "a", 1, attrs=link), text, Token("link_close", "a", -1))


def name_rows(tokens: list[Token]) -> None:
    """Give the rows of the glossary's first table the anchors of their terms."""
    row: Token | None = None
    for token in tokens:
        if token.type == "tr_open":
            row = token
        elif token.type == "inline" and row is not None:
            first, *others = map(anchor_of, terms_of(token.content))
            row.attrs["id"] = first
            spans = [Token("html_inline", "", 0, content=f'<span id="{each}"></span>') for each in others]
            token.children = [*(token.children or []), *spans]
            row = None
        elif token.type == "thead_close":
            row = None
        elif token.type == "table_close":
            return


def _with_plural(term: str) -> str:
    word = re.escape(term)
    return f"{word[:-1]}(?:y|ies)" if term.endswith("y") else f"{word}(?:e?s)?"
