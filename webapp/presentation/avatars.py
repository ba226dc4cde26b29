"""Avatars: symmetrical patterns of squares, generated from a random key."""

from flask import Flask
from markupsafe import Markup

SIZES = ("s", "m", "l")
HUES = 10
SIDE, HALF = 5, 3
# Silhouette for users without a key: deleted accounts, and accounts created by an earlier version.
NOBODY = "M2.5 .6a1.1 1.1 0 1 1 0 2.2a1.1 1.1 0 1 1 0-2.2zM.6 5a1.9 1.9 0 0 1 3.8 0z"
FEWEST, MOST = 5, 11  # squares in the left half; other counts form no recognizable pattern


def svg(key: str | None, size: str = "m") -> Markup:
    """Return a key's avatar as SVG, hidden from screen readers because a name is next to it."""
    path, hue = pattern(key)
    return Markup(
        '<svg class="avatar {size} {hue}" viewBox="-0.5 -0.5 6 6" aria-hidden="true" focusable="false">'
        '<path d="{path}"/></svg>'
    ).format(size=size if size in SIZES else "m", hue=hue, path=path)


def pattern(key: str | None) -> tuple[str, str]:
    """Return the SVG path of a key's squares and the CSS class of its color."""
    if not key:
        return NOBODY, "hue-none"
    bits = int.from_bytes(key.encode(errors="replace")) if not _is_hex(key) else int(key, 16)
    half = [[bool(bits >> (row * HALF + column) & 1) for column in range(HALF)] for row in range(SIDE)]
    count = sum(map(sum, half))
    if not FEWEST <= count <= MOST:  # XOR with a chessboard leaves about half of the squares.
        half = [[cell ^ bool((r + c) % 2) for c, cell in enumerate(row)] for r, row in enumerate(half)]
    rows = (row + row[-2::-1] for row in half)
    path = "".join(_runs(number, row) for number, row in enumerate(rows))
    return path, f"hue-{(bits >> (SIDE * HALF)) % HUES}"


def init_app(app: Flask) -> None:
    """Register the template function `avatar_svg`."""
    app.add_template_global(svg, "avatar_svg")


def _runs(number: int, row: list[bool]) -> str:
    """Return the path of a row's squares, with adjacent squares joined."""
    path, column = "", 0
    while column < SIDE:
        length = 0
        while column + length < SIDE and row[column + length]:
            length += 1
        if length:
            path += f"M{column} {number}h{length}v1h-{length}z"
        column += max(length, 1)
    return path


def _is_hex(key: str) -> bool:
    try:
        int(key, 16)
    except ValueError:
        return False
    return not key.startswith("-")
