"""Static files with fingerprinted URLs."""

import hashlib
from functools import cache
from mimetypes import guess_type
from pathlib import Path
from typing import cast

from flask import Flask, Response, request, url_for
from werkzeug.exceptions import NotFound

import webapp

STATIC = Path(webapp.__file__).parent / "static"
STATIC_URL = "/static"
STYLESHEET = "fairboard.css"
# One stylesheet serves all pages, so no page needs a second request. Later files override earlier ones.
SHEETS = ("tokens", "base", "layout", "parts", "charts", "reports")


def sheet_files() -> list[Path]:
    """Return the files of the stylesheet in cascade order; those for single pages come last."""
    folder = STATIC / "css"
    return [folder / f"{name}.css" for name in SHEETS] + sorted((folder / "pages").glob("*.css"))


@cache
def _files() -> dict[str, Path]:
    return {path.relative_to(STATIC).as_posix(): path for path in STATIC.rglob("*") if path.is_file()}


@cache
def content(filename: str) -> bytes:
    """Return a static file, or the stylesheet joined from its parts; raise NotFound."""
    if filename == STYLESHEET:
        return b"\n".join(path.read_bytes() for path in sheet_files())
    # Only exact names are found: the cache would grow with each name such as `css/./base.css`.
    if filename not in _files():
        raise NotFound
    return _files()[filename].read_bytes()


@cache
def fingerprint(filename: str) -> str:
    """Return the start of the sha256 of a static file."""
    return hashlib.sha256(content(filename)).hexdigest()[:12]


def static_url(filename: str) -> str:
    """Return the fingerprinted URL of a static file."""
    return url_for("static", filename=filename, v=fingerprint(filename))


def serve(filename: str) -> Response:
    """Return a static file, or 304 if the browser has it already."""
    whole = content(filename)
    response = Response(whole, mimetype=guess_type(filename)[0])
    response.add_etag()
    return cast(Response, response.make_conditional(request, accept_ranges=True, complete_length=len(whole)))


def init_app(app: Flask) -> None:
    """Register the static file route and the template function `static_url`."""
    app.add_url_rule(f"{STATIC_URL}/<path:filename>", "static", serve)
    app.add_template_global(static_url)
