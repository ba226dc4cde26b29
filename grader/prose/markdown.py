"""Conversion of Markdown with formulas and figures to safe HTML and one-line summaries."""

import itertools
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup
from mdit_py_plugins.dollarmath import dollarmath_plugin

from grader.prose.drawn import TOO_COMPLEX, Drawn, FigureSource, plain
from grader.text import quoted, without_directions

logger = logging.getLogger(__name__)
MOST_CHARACTERS = 1_000_000  # limits the HTML, because references can repeat a long URL
# The converter is recursive, so the most deeply nested formula must fit on a thread's stack.
MAX_FORMULA_LENGTH = 1000
MAX_DEPTH = 30

# The converter's elements and attributes except `style`; all are MathML Core.
FORMULA_TAGS = set(
    re.findall(
        r"\w+",
        "math menclose mfrac mi mn mo mover mpadded mphantom mroot mrow mspace msqrt mstyle msub msubsup "
        "msup mtable mtd mtext mtr munder munderover",
    )
)
_FORMULA_ATTRIBUTES = re.findall(
    r"\w+",
    "accent accentunder depth display displaystyle height linethickness lspace mathvariant maxsize minsize "
    "notation rspace scriptlevel stretchy symmetric voffset width",
)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_REASON = re.compile(r"Error: *(.+)")
TAGS = (nh3.ALLOWED_TAGS | {"figure", "figcaption"} | FORMULA_TAGS) - {"map", "area"}
ATTRIBUTES = (
    {tag: set(names) for tag, names in nh3.ALLOWED_ATTRIBUTES.items() if tag in TAGS}
    | {tag: set(_FORMULA_ATTRIBUTES) for tag in FORMULA_TAGS}
    | {"div": {"role", "aria-label", "tabindex"}}
)
MAX_LENGTH = 170


def convert_formula(latex: str, *, is_block: bool) -> str:
    """Convert LaTeX to MathML; raise ValueError with the fault of the formula."""
    if len(latex) > MAX_FORMULA_LENGTH:
        most, length = f"{MAX_FORMULA_LENGTH:,}", f"{len(latex):,}"
        raise ValueError(f"A formula may have at most {most} characters; this one has {length}.")
    depths = itertools.accumulate((each in "{[") - (each in "}]") for each in latex)
    if max(depths, default=0) > MAX_DEPTH:
        raise ValueError(f"Braces may be nested at most {MAX_DEPTH} deep.")
    # Most sites have no formulas, so the converter is imported on first use.
    from math_core import LatexError, LatexToMathML

    try:
        return LatexToMathML(pretty_print="never").convert_with_local_state(latex, displaystyle=is_block)
    except LatexError as error:
        reason = _REASON.search(_COLOUR.sub("", str(error)))
        raise ValueError(reason[1].strip() if reason else "This is not a supported formula.") from error


def _formula(_self: Any, tokens: Sequence[Token], place: int, _options: Any, env: Any) -> str:
    content, is_block = tokens[place].content.strip(), tokens[place].type == "math_block"
    try:
        html = convert_formula(content, is_block=is_block)
    except ValueError as fault:
        env["faults"].append(f"The formula {quoted(content)} cannot be rendered: {fault}")
        html = f"<code>{escape(content)}</code>"
    # The focusable element lets keyboard users scroll a wide formula.
    return f'<div role="group" aria-label="Formula" tabindex="0">{html}</div>\n' if is_block else html


def _image(_self: Any, tokens: Sequence[Token], place: int, _options: Any, env: Any) -> str:
    """Render an uploaded figure; an external picture would disclose the readers to its server."""
    token = tokens[place]
    name = str(token.attrGet("src") or "")
    figure, alt = env["figures"].get(name), escape(token.content)
    if figure is None:
        env["faults"].append(f"The figure {quoted(name)} does not exist. Upload it, or correct its name.")
        return alt
    return f'<img src="{escape(figure.url)}" alt="{alt}" width="{figure.width}" height="{figure.height}">'


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.use(dollarmath_plugin, allow_labels=False, allow_space=False, allow_digits=False)
    parser.add_render_rule("math_inline", _formula)
    parser.add_render_rule("math_block", _formula)
    parser.add_render_rule("image", _image)
    return parser


MARKDOWN = _parser()


def drawn(text: str, figures: tuple[FigureSource, ...] = ()) -> Drawn:
    """Return Markdown as safe HTML, with the faults in its figures and formulas, and its summary."""
    env: dict[str, Any] = {"figures": {figure.name: figure for figure in figures}, "faults": []}
    tokens = MARKDOWN.parse(text)
    _make_figures(tokens)
    for token in tokens:
        token.tag = "h2" if token.tag == "h1" else token.tag
    html = MARKDOWN.renderer.render(tokens, MARKDOWN.options, env)
    # HTML entities can contain direction marks.
    clean = without_directions(nh3.clean(html, tags=TAGS, attributes=ATTRIBUTES))
    safe = Markup(clean)  # noqa: S704 - cleaned
    return Drawn(safe, tuple(dict.fromkeys(env["faults"])), first_line(text))


def bounded(text: str, figures: tuple[FigureSource, ...]) -> Drawn:
    """Return a text as HTML, or as plain text if it cannot be formatted or is too long."""
    try:
        formatted = drawn(text, figures)
    except Exception:
        logger.exception("A text could not be formatted.")
        return Drawn(plain(text), (TOO_COMPLEX,))
    is_short = len(formatted.html) <= MOST_CHARACTERS
    return formatted if is_short else Drawn(plain(text), (TOO_COMPLEX,), formatted.summary)


def _make_figures(tokens: Sequence[Token]) -> None:
    """Turn each paragraph that contains only a picture into a figure, with its title as the caption."""
    for begin, inline, end in zip(tokens, tokens[1:], tokens[2:], strict=False):
        children = inline.children or []
        if begin.type == "paragraph_open" and [each.type for each in children] == ["image"]:
            begin.tag = end.tag = "figure"
            begin.hidden = end.hidden = False  # in a list
            if title := str(children[0].attrGet("title") or ""):
                opening, closing = (Token("figcaption", "figcaption", nesting) for nesting in (1, -1))
                inline.children = [*children, opening, Token("text", "", 0, content=title), closing]


def first_line(text: str) -> str:
    """Return the first paragraph of a Markdown text, truncated to one line; "" if there is none."""
    tokens = MARKDOWN.parse(text)
    for before, token in itertools.pairwise(tokens):
        if before.type == "paragraph_open" and before.level == 0:
            words = " ".join("".join(_plain(token.children or ())).split())
            if words:
                return cut(words, MAX_LENGTH)
    return ""


def cut(words: str, length: int) -> str:
    """Truncate a text after a word, or after a character if it has no spaces."""
    if len(words) <= length:
        return words
    kept = words[: length - 1]
    return (kept.rpartition(" ")[0] or kept).rstrip(" ,;:") + "…"


def _plain(tokens: Iterable[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type in ("softbreak", "hardbreak"):
            yield " "
        elif token.type in ("text", "code_inline") or token.type.startswith("math_inline"):
            yield token.content
