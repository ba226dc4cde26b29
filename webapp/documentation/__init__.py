"""Documentation: static pages of the chapters in docs/, which `build` writes, under /docs."""

from pathlib import Path

from flask import Blueprint, send_from_directory
from flask.typing import ResponseReturnValue

SITE = Path(__file__).with_name("site")
URL = "/docs"
blueprint = Blueprint("documentation", __name__, url_prefix=URL)


def docs_url(chapter: str = "", anchor: str = "") -> str:
    """Return the URL of a chapter or an anchor in it; the table of contents has an empty name."""
    return f"{URL}{chapter and f'/{chapter}'}{anchor and f'#{anchor}'}"


@blueprint.get("", defaults={"path": "index"})
@blueprint.get("/<path:path>")
def show(path: str) -> ResponseReturnValue:
    """Send a chapter, or a file to which chapters link."""
    return send_from_directory(SITE, path if "." in path else f"{path}.html")
