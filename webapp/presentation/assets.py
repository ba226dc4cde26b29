"""URLs of static files (CSS, scripts, images), with a fingerprint for browser caches."""

import hashlib
from functools import cache
from pathlib import Path

from flask import Flask, url_for

import webapp

STATIC = Path(webapp.__file__).parent / "static"


@cache
def fingerprint(filename: str) -> str:
    """Return the start of the sha256 of a static file."""
    return hashlib.sha256((STATIC / filename).read_bytes()).hexdigest()[:12]


def static_url(filename: str) -> str:
    """Return the address of a static file at its present content."""
    return url_for("static", filename=filename, v=fingerprint(filename))


def init_app(app: Flask) -> None:
    """Give the templates `static_url`."""
    app.add_template_global(static_url)
