"""Documentation pages: contents, chapters, images and notebooks."""

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
from webapp.http.responses import conditional
from webapp.http.site import site_link

blueprint = Blueprint("documentation", __name__, url_prefix=ADDRESS)
LAYOUT = "DOCUMENTATION_LAYOUT"  # set by the export in `__main__`


def init_app(app: Flask) -> None:
    """Register the pages, and the template functions that link to chapters and glossary terms."""
    app.register_blueprint(blueprint)
    app.add_url_rule("/llms.txt", "documentation.contents", _contents)
    app.add_template_global(docs_url)
    app.add_template_global(glossary_url)
    app.config.setdefault(LAYOUT, "base.html")


def docs_url(page: str = "", anchor: str = "") -> str:
    """Return the URL of a chapter or an anchor in it: `docs_url("glossary", "power-mean")`."""
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


@blueprint.get("/<any(images, notebooks, examples):folder>/<file>")
def file(folder: str, file: str) -> ResponseReturnValue:
    """Send an image, a notebook or an example that belongs to the chapters."""
    path = files().get(f"{folder}/{file}") or abort(404)
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return conditional(Response(path.read_bytes(), mimetype=kind))


def _contents() -> ResponseReturnValue:
    """Send the table of contents as Markdown, for language models: https://llmstxt.org."""
    return Response(contents(site_link("documentation.index").removesuffix(ADDRESS)), mimetype="text/plain")


def _page(template: str, chapter: Chapter) -> str:
    return render_template(template, layout=current_app.config[LAYOUT], groups=groups(), chapter=chapter)
