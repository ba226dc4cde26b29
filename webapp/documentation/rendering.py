"""Chapters as HTML: anchors, links, scrollable tables and code, glossary rows."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from itertools import pairwise, zip_longest

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup
from mdit_py_plugins.dollarmath import dollarmath_plugin

from grader.prose.markdown import convert_formula

MARKDOWN = (
    MarkdownIt("commonmark", {"html": False})
    .enable("table")
    .use(dollarmath_plugin, allow_labels=False, allow_space=False, allow_digits=False)
)
UNSCROLLED_COLUMNS = 40  # maximum width of code that fits on a phone


@dataclass(frozen=True)
class ChapterSection:
    """A heading of a chapter, with its anchor."""

    level: int
    anchor: str
    heading: str


def render(
    text: str, *, address_of: Callable[[str], str], explain: Callable[[list[Token]], None] | None
) -> tuple[Markup, tuple[ChapterSection, ...]]:
    """Return a chapter's HTML and its headings, starting with the title.

    `address_of` resolves links, and `explain` makes chapter-specific changes.
    """
    tokens = MARKDOWN.parse(text)
    _name_headings(tokens)
    _set_addresses(tokens, address_of)
    if explain:
        explain(tokens)
    sections = tuple(_sections(tokens))
    _draw_formulas(tokens)
    html = MARKDOWN.renderer.render(list(_scrolling(tokens)), MARKDOWN.options, {})
    return Markup(html), sections  # noqa: S704 - our own chapters, without raw HTML


def anchor_of(text: str) -> str:
    """Return the anchor of a heading or a term, in the style of GitHub."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def terms_of(cell: str) -> list[str]:
    """Return the terms in a row's first cell."""
    return [term.strip(" `") for term in cell.split(", ")]


def name_rows(tokens: list[Token]) -> None:
    """Add anchors to the rows of the glossary's first table."""
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


def put_into_sections(tokens: list[Token]) -> None:
    """Wrap each second-level heading and its content in a section element."""
    parted: list[Token] = []
    for token in tokens:
        if token.type == "heading_open" and token.tag == "h2":
            is_first = all(each.tag != "h2" for each in parted)
            parted.append(_html("<section>" if is_first else "</section>\n<section>"))
        parted.append(token)
    tokens[:] = [*parted, _html("</section>")]


def _name_headings(tokens: list[Token]) -> None:
    """Add an anchor to each heading, in the style of GitHub."""
    used: Counter[str] = Counter()
    for token, inline in pairwise(tokens):
        if token.type == "heading_open":
            anchor = anchor_of(_plain(inline))
            token.attrs["id"] = f"{anchor}-{used[anchor]}" if used[anchor] else anchor
            used[anchor] += 1


def _set_addresses(tokens: list[Token], address_of: Callable[[str], str]) -> None:
    for token in tokens:
        for child in token.children or ():
            name = {"link_open": "href", "image": "src"}.get(child.type)
            if name:
                child.attrs[name] = address_of(str(child.attrs[name]))


def _sections(tokens: list[Token]) -> Iterator[ChapterSection]:
    for token, inline in pairwise(tokens):
        if token.type == "heading_open":
            yield ChapterSection(int(token.tag[1]), str(token.attrs["id"]), _plain(inline))


def _plain(token: Token) -> str:
    """Return the plain text of a token."""
    if token.children is None:
        return token.content
    return "".join(
        " " if child.type == "softbreak" else child.content
        for child in token.children
        if child.type not in ("html_inline", "math_inline")
    )


def _scrolling(tokens: list[Token]) -> Iterator[Token]:
    """Yield the tokens, wrapping tables, formulas, pictures and wide code in scrollable boxes."""
    heading, tables, formulas_drawn, is_picture = "", 0, 0, False
    for token, following in zip_longest(tokens, tokens[1:]):
        if token.type == "heading_open":
            heading = _plain(following)
        elif token.type == "table_open":
            tables += 1
            yield _box(f"Table {tables}: {heading}")
        elif token.type == "paragraph_open":
            is_picture = [child.type for child in following.children or ()] == ["image"]
            if is_picture:
                yield _box(_plain(following))
        is_code = token.type in ("fence", "code_block")
        if token.type == "math_block":
            formulas_drawn += 1
            yield _box(f"Formula {formulas_drawn}: {heading}")
            yield _html(f"{_formula(token.content, is_block=True)}</div>\n")
        else:
            yield _html(_code(token.content)) if is_code else token
        if token.type == "table_close" or (token.type == "paragraph_close" and is_picture):
            yield _html("</div>")


def _draw_formulas(tokens: list[Token]) -> None:
    for token in tokens:
        for child in token.children or ():
            if child.type == "math_inline":
                child.type, child.content = "html_inline", _formula(child.content, is_block=False)


def _formula(latex: str, *, is_block: bool) -> str:
    """Return a formula as MathML, or as its LaTeX source if the conversion fails."""
    found = convert_formula(latex.strip(), is_block=is_block)
    return f"<code>{escape(latex)}</code>" if found.fault else found.mathml


def _box(label: str) -> Token:
    return _html(f'<div class="scroll" role="region" aria-label="{escape(label)}" tabindex="0">')


def _code(text: str) -> str:
    is_wide = max(map(len, text.splitlines()), default=0) > UNSCROLLED_COLUMNS
    focus = ' tabindex="0"' if is_wide else ""
    return f"<pre{focus}><code>{escape(text.rstrip())}</code></pre>\n"


def _html(content: str) -> Token:
    return Token("html_block", "", 0, content=content)
