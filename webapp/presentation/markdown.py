"""Organizers' Markdown texts (overview, rules, announcements) as safe HTML: the allowed tags."""

from functools import lru_cache

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

TAGS = nh3.ALLOWED_TAGS - {"img"}  # a picture from elsewhere would tell its server who reads
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


@lru_cache(maxsize=256)
def render(text: str) -> Markup:
    """Return Markdown as HTML that is safe on a page, whose one first heading is the page's own."""
    tokens = MARKDOWN.parse(text)
    for token in tokens:
        token.tag = "h2" if token.tag == "h1" else token.tag
    html = MARKDOWN.renderer.render(tokens, MARKDOWN.options, {})
    return Markup(nh3.clean(html, tags=TAGS))  # noqa: S704 - cleaned
