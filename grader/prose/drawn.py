"""HTML for formatted and plain texts, independent of the Markdown converter."""

from html import escape
from typing import NamedTuple

from markupsafe import Markup

TOO_COMPLEX = (
    "The text is too complex to format, so it is shown unformatted. Simplify its formulas, tables and links."
)


class FigureSource(NamedTuple):
    """An uploaded figure with its name, URL and size in pixels."""

    name: str
    url: str
    width: int
    height: int


class Drawn(NamedTuple):
    """A text as HTML, with a message for each fault, and the text's first paragraph."""

    html: Markup
    faults: tuple[str, ...] = ()
    summary: str = ""


def plain(text: str) -> Markup:
    """Return a text as unformatted HTML paragraphs."""
    paragraphs = (escape(each).replace("\n", "<br>\n") for each in text.split("\n\n") if each.strip())
    return Markup("".join(f"<p>{each}</p>\n" for each in paragraphs))  # noqa: S704 - escaped
