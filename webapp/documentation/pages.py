"""Documentation pages: contents, chapters, search, images and notebooks."""

import mimetypes
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from flask import Blueprint, Flask, Response, abort, current_app, render_template
from flask.typing import ResponseReturnValue
from markupsafe import Markup, escape

from webapp.documentation.chapters import (
    ADDRESS,
    Chapter,
    address,
    anchor_of_term,
    chapters,
    contents,
    files,
    groups,
)
from webapp.documentation.rendering import Section
from webapp.http.parameters import asked_text
from webapp.http.responses import conditional
from webapp.http.site import site_link

blueprint = Blueprint("documentation", __name__, url_prefix=ADDRESS)
MOST = 30
WORDS_MAX = 8
AROUND = 90  # characters of context before and after the first match
IN_TITLE, IN_HEADING, MOST_IN_TEXT = 2, 6, 4  # weights of a word in the search
LAYOUT = "DOCUMENTATION_LAYOUT"  # set by the export in `__main__`


def init_app(app: Flask) -> None:
    """Register the pages, and the template functions that link to chapters and glossary terms."""
    app.register_blueprint(blueprint)
    app.add_url_rule("/llms.txt", "documentation.contents", _contents)
    app.add_template_global(docs_url)
    app.add_template_global(glossary_url)
    app.config.setdefault(LAYOUT, "base.html")


def docs_url(page: str = "", anchor: str = "") -> str:
    """Return the URL of a chapter or an anchor in it: `docs_url("glossary", "bpsn-auc")`."""
    return address(page, anchor)


def glossary_url(word: str) -> str | None:
    """Return the URL of a term in the glossary, or None if it is not there."""
    anchor = anchor_of_term(word)
    return address("glossary", anchor) if anchor else None


@blueprint.get("")
def index() -> ResponseReturnValue:
    """Show the chapters, grouped by reader."""
    return _page("documentation/index.html", chapters()[""])


@blueprint.get("/<chapter>")
def show(chapter: str) -> ResponseReturnValue:
    """Show a chapter."""
    return _page("documentation/chapter.html", chapters().get(chapter) or abort(404))


@blueprint.get("/search")
def search() -> ResponseReturnValue:
    """Show the sections that contain the words of a query."""
    query = asked_text("q").strip()
    hits, count = find(chapters().values(), query)
    return _page("documentation/search.html", None, query=query, hits=hits, hit_count=count)


@blueprint.get("/<any(images, notebooks, examples):folder>/<file>")
def file(folder: str, file: str) -> ResponseReturnValue:
    """Send an image, a notebook or an example that belongs to the chapters."""
    path = files().get(f"{folder}/{file}") or abort(404)
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return conditional(Response(path.read_bytes(), mimetype=kind))


def _contents() -> ResponseReturnValue:
    """Send the table of contents as Markdown, for language models: https://llmstxt.org."""
    return Response(contents(site_link("documentation.index").removesuffix(ADDRESS)), mimetype="text/plain")


def _page(template: str, chapter: Chapter | None, **shown: object) -> str:
    layout = current_app.config[LAYOUT]
    return render_template(template, layout=layout, groups=groups(), chapter=chapter, **{"query": ""} | shown)


@dataclass(frozen=True)
class Hit:
    """A section that matches a search."""

    chapter: str
    heading: str
    address: str
    excerpt: Markup


def find(chapters: Iterable[Chapter], query: str) -> tuple[list[Hit], int]:
    """Return the best matching sections and the total number of matches; titles count as text."""
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
    """Return the relevance of a section for a word; 0 if it does not contain the word."""
    heading = section.heading.lower()
    in_heading = IN_HEADING * (1 + len(word) / len(heading)) if word in heading else 0
    return in_heading + min(section.text.lower().count(word), MOST_IN_TEXT)


def _hit(chapter: Chapter, section: Section, words: list[str]) -> Hit:
    marked = re.compile("|".join(map(re.escape, words)), re.IGNORECASE)
    first = re.search(re.escape(words[0]), section.text, re.IGNORECASE) or marked.search(section.text)
    start = max(0, first.start() - AROUND) if first else 0
    start = section.text.find(" ", start) + 1 if start else 0  # start at a word boundary
    excerpt = section.text[start : start + 2 * AROUND].rsplit(" ", 1)[0]
    pieces = [escape(part) for part in re.split(f"({marked.pattern})", excerpt, flags=re.IGNORECASE)]
    pieces[1::2] = [Markup("<mark>{}</mark>").format(piece) for piece in pieces[1::2]]
    place = address(chapter.name, section.anchor)
    return Hit(chapter.title, section.heading, place, Markup().join([escape("… " if start else ""), *pieces]))
