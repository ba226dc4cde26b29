"""What a picture's first bytes say: its kind and its size in pixels."""

from typing import NamedTuple

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
JPEG_START = b"\xff\xd8\xff"
# Markers of a JPEG that begin a frame, which has the size; C4, C8 and CC begin something else.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_STANDS_ALONE = frozenset({0x01, *range(0xD0, 0xD8)})


class Picture(NamedTuple):
    """The kind of a picture, as browsers name it, and its size in pixels."""

    media_type: str
    width: int
    height: int


def picture_of(data: bytes) -> Picture | None:
    """Return what a PNG, JPEG or WebP is; None for anything else, also for one cut off in its head."""
    for media_type, size_of in (("image/png", _png), ("image/jpeg", _jpeg), ("image/webp", _webp)):
        size = size_of(data)
        if size is not None and min(size) > 0:
            return Picture(media_type, *size)
    return None


def _png(data: bytes) -> tuple[int, int] | None:
    if len(data) < 33 or not data.startswith(PNG_SIGNATURE) or data[12:16] != b"IHDR":
        return None
    return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])


def _jpeg(data: bytes) -> tuple[int, int] | None:
    if not data.startswith(JPEG_START):
        return None
    place = 2
    while place + 9 <= len(data):
        if data[place] != 0xFF:
            return None
        marker = data[place + 1]
        if marker == 0xFF:  # a filling byte
            place += 1
        elif marker in _STANDS_ALONE:
            place += 2
        elif marker in _FRAMES:
            return int.from_bytes(data[place + 7 : place + 9]), int.from_bytes(data[place + 5 : place + 7])
        else:
            place += 2 + int.from_bytes(data[place + 2 : place + 4])
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    if len(data) < 30 or data[:4] != b"RIFF" or data[8:12] != b"WEBP":
        return None
    match data[12:16]:
        case b"VP8 " if data[23:26] == b"\x9d\x01\x2a":
            width, height = (int.from_bytes(data[at : at + 2], "little") & 0x3FFF for at in (26, 28))
            return width, height
        case b"VP8L" if data[20] == 0x2F:
            bits = int.from_bytes(data[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            width, height = (int.from_bytes(data[at : at + 3], "little") + 1 for at in (24, 27))
            return width, height
    return None
