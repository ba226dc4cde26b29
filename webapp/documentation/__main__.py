"""Export of the documentation as static files, run by `make docs`."""

import re
import sys
from pathlib import Path

from flask import Flask

from webapp.documentation import pages
from webapp.documentation.chapters import ADDRESS, chapters, files
from webapp.http import parameters
from webapp.presentation import assets

STYLES = "fairboard.css"
LINK = re.compile(r'(?<==")/[^"]*')


def write(folder: Path) -> None:
    """Write the chapters without the site's layout."""
    app = Flask("webapp", static_folder=None)
    app.config[pages.LAYOUT] = "documentation/files.html"
    for module in (parameters, assets, pages):
        module.init_app(app)
    client = app.test_client()
    for chapter in chapters().values():
        page = client.get(chapter.address).text
        _put(folder / _file_of(chapter.address), LINK.sub(lambda link: _file_of(link[0]), page).encode())
    for path, source in files().items():
        _put(folder / path, source.read_bytes())
    with app.test_request_context():
        styles = assets.static_url(STYLES)
    _put(folder / STYLES, client.get(styles).data)


def _file_of(address: str) -> str:
    """Return the file for a URL of the site, as a relative link."""
    path, mark, anchor = address.partition("#")
    name = path.removeprefix(ADDRESS).strip("/")
    if STYLES in name:
        return STYLES
    return f"{name}{mark}{anchor}" if name in files() else f"{name or 'index'}.html{mark}{anchor}"


def _put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
