"""The key by which names were unique at migration 0002: case and look-alikes folded.

`look_alikes_of_0002.txt` holds what confusable-homoglyphs 3.3.1 made of Unicode's table: on each line a
prototype and the characters that can be mistaken for it, as hexadecimal code points.
"""

import hashlib
import unicodedata
from functools import cache
from importlib.resources import files

KEY_LENGTH = 256


def name_key(name: str) -> str:
    """Return the key of a clean name: names that look alike have one key."""
    seen = _skeleton(name)
    if not seen.isascii():  # capitals of other scripts have look-alikes of their own
        seen = _skeleton(name.casefold())
    key = _skeleton(seen.casefold()).replace("i", "l")
    return key if len(key) <= KEY_LENGTH else hashlib.sha256(key.encode()).hexdigest()


def _skeleton(text: str) -> str:
    prototypes = _prototypes()
    decomposed = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFD", "".join(prototypes.get(char, char) for char in decomposed))


@cache
def _prototypes() -> dict[str, str]:
    table = files("migrations.frozen").joinpath("look_alikes_of_0002.txt").read_text(encoding="ascii")
    found: dict[str, str] = {}
    for line in table.splitlines():
        prototype, characters = line.split(": ")
        found |= dict.fromkeys(_text(characters), _text(prototype))
    return found


def _text(code_points: str) -> str:
    return "".join(chr(int(point, 16)) for point in code_points.split())
