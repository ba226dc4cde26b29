"""Detection of image format and size from the first bytes; rejection of other data."""

import struct
import zlib

from hypothesis import given
from hypothesis import strategies as st

from grader.services.competitions import figures
from grader.services.competitions.figures import Picture, picture_of
from tests.fixtures.refusals import refused

SIZES = st.integers(1, 16_000)


def png(width, height):
    """Return a PNG without its pixel data."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    end = b"\0\0\0\0IEND" + struct.pack(">I", zlib.crc32(b"IEND"))
    start = b"\x89PNG\r\n\x1a\n\0\0\0\x0d"
    return start + head + struct.pack(">I", zlib.crc32(head)) + end


def jpeg(width, height, *, comment=b""):
    """Return the head of a JPEG with a comment before its frame."""
    before = b"\xff\xfe" + struct.pack(">H", 2 + len(comment)) + comment
    return b"\xff\xd8" + before + b"\xff\xff\xc2" + struct.pack(">HBHHB", 11, 8, height, width, 3) + bytes(8)


def webp(kind, body):
    return b"RIFF" + struct.pack("<I", 100) + b"WEBP" + kind + struct.pack("<I", len(body)) + body + bytes(20)


@given(SIZES, SIZES, st.binary(max_size=60))
def test_size_is_read_from_each_format(width, height, comment):
    assert picture_of(png(width, height)) == Picture("image/png", width, height)
    assert picture_of(jpeg(width, height, comment=comment)) == Picture("image/jpeg", width, height)
    lossy = b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height)
    assert picture_of(webp(b"VP8 ", lossy)) == Picture("image/webp", width, height)
    lossless = b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14)
    assert picture_of(webp(b"VP8L", lossless)) == Picture("image/webp", width, height)
    extended = bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    assert picture_of(webp(b"VP8X", extended)) == Picture("image/webp", width, height)


def test_picture_truncated_in_its_header_is_rejected():
    for whole in (png(3, 4), jpeg(3, 4), webp(b"VP8X", bytes(10))):
        assert picture_of(whole) is not None
        assert picture_of(whole[:12]) is None
    assert picture_of(png(0, 4)) is None


def test_picture_that_is_too_large_is_rejected_with_the_reason():
    with refused("invalid_figure", "2 MB"):
        figures.checked("a.png", png(2, 2) + bytes(figures.MAX_BYTES))
    with refused("invalid_figure", "10,000"):
        figures.checked("a.png", png(2, 10_001))
    assert figures.checked("A b.jpeg", png(2, 2))[0] == "a-b.png"
