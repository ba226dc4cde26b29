"""The pages of the documentation: contents, chapters, search, and the files that they show."""

import mimetypes

from flask import Blueprint, Flask, Response, abort, current_app, render_template
from flask.typing import ResponseReturnValue

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
from webapp.documentation.search import search as found_in
from webapp.http.parameters import asked_text
from webapp.http.responses import conditional
from webapp.http.site import site_link

blueprint = Blueprint("documentation", __name__, url_prefix=ADDRESS)
LAYOUT = "DOCUMENTATION_LAYOUT"  # of an application that is no site: see `__main__`


def init_app(app: Flask) -> None:
    """Register the pages; give all templates `docs_url`, so that a help text leads to its chapter."""
    app.register_blueprint(blueprint)
    app.add_url_rule("/llms.txt", "documentation.contents", _contents)
    app.add_template_global(docs_url)
    app.add_template_global(glossary_url)
    app.config.setdefault(LAYOUT, "base.html")


def docs_url(page: str = "", anchor: str = "") -> str:
    """Return the address of a chapter, or of a place in it: `docs_url("glossary", "bpsn-auc")`."""
    return address(page, anchor)


def glossary_url(word: str) -> str | None:
    """Return where the glossary explains a word, None if it does not."""
    anchor = anchor_of_term(word)
    return address("glossary", anchor) if anchor else None


@blueprint.get("")
def index() -> ResponseReturnValue:
    """Show the chapters by their readers."""
    return _page("documentation/index.html", chapters()[""])


@blueprint.get("/<chapter>")
def show(chapter: str) -> ResponseReturnValue:
    """Show a chapter."""
    return _page("documentation/chapter.html", chapters().get(chapter) or abort(404))


@blueprint.get("/search")
def search() -> ResponseReturnValue:
    """Show the sections that have the words of a query."""
    query = asked_text("q").strip()
    hits, count = found_in(chapters().values(), query)
    return _page("documentation/search.html", None, query=query, hits=hits, hit_count=count)


@blueprint.get("/<any(images, notebooks, examples):folder>/<file>")
def file(folder: str, file: str) -> ResponseReturnValue:
    """Send an image, a notebook or an example of the chapters."""
    path = files().get(f"{folder}/{file}") or abort(404)
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return conditional(Response(path.read_bytes(), mimetype=kind))


def _contents() -> ResponseReturnValue:
    """Send the table of contents as Markdown, for language models: https://llmstxt.org."""
    return Response(contents(site_link("documentation.index").removesuffix(ADDRESS)), mimetype="text/plain")


def _page(template: str, chapter: Chapter | None, **shown: object) -> str:
    layout = current_app.config[LAYOUT]
    return render_template(template, layout=layout, groups=groups(), chapter=chapter, **{"query": ""} | shown)
