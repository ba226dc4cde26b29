"""Compressed answers: pages, styles, scripts and JSON as brotli or gzip for whoever accepts it."""

from flask import Flask
from flask_compress import Compress

# Files are sent as they are: they are streams, and their readers compare lengths and ranges.
TYPES = ["text/html", "text/css", "text/javascript", "application/json", "image/svg+xml"]


def init_app(app: Flask) -> None:
    """Compress whole answers; streams, such as events and downloads, are left alone."""
    app.config.update(COMPRESS_MIMETYPES=TYPES, COMPRESS_ALGORITHM=["br", "gzip"], COMPRESS_STREAMS=False)
    Compress(app)
