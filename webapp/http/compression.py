"""Compressed answers: pages, styles, scripts and JSON as brotli or gzip, where the browser accepts it."""

from flask import Flask, Response
from flask_compress import Compress

# Files are sent as they are: they are streams, and their readers compare lengths and ranges.
TYPES = ["text/html", "text/css", "text/javascript", "application/json", "image/svg+xml"]
PARTIAL_CONTENT = 206


def init_app(app: Flask) -> None:
    """Compress whole answers; streams, such as events and downloads, and parts of files are left alone."""
    app.config.update(
        COMPRESS_MIMETYPES=TYPES,
        COMPRESS_ALGORITHM=["br", "gzip"],
        COMPRESS_STREAMS=False,
        COMPRESS_REGISTER=False,
    )
    compress = Compress(app)

    @app.after_request
    def pack(response: Response) -> Response:
        if response.status_code == PARTIAL_CONTENT:
            return response
        return compress.after_request(response)
