"""Detection of image format and size from the first bytes; rejection of other data."""

import struct
import zlib

from grader.services.competitions import figures
from grader.services.competitions.figures import Picture, picture_of
from tests.fixtures.refusals import refused


def png(width, height):
    """Return a PNG without its pixel data."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    end = b"\0\0\0\0IEND" + struct.pack(">I", zlib.crc32(b"IEND"))
    start = b"\x89PNG\r\n\x1a\n\0\0\0\x0d"
    return start + head + struct.pack(">I", zlib.crc32(head)) + end


def webp(body):
    return b"RIFF" + struct.pack("<I", 100) + b"WEBPVP8X" + struct.pack("<I", len(body)) + body + bytes(20)


def test_size_is_read_from_each_format():
    assert picture_of(png(3, 16_000)) == Picture("image/png", 3, 16_000)
    frame = b"\xff\xc2" + struct.pack(">HBHHB", 11, 8, 4, 3, 3) + bytes(8)
    assert picture_of(b"\xff\xd8" + frame) == Picture("image/jpeg", 3, 4)
    assert picture_of(webp(bytes(4) + b"\2\0\0\3\0\0")) == Picture("image/webp", 3, 4)


def test_picture_truncated_in_its_header_is_rejected():
    for whole in (png(3, 4), webp(bytes(10))):
        assert picture_of(whole) is not None
        assert picture_of(whole[:12]) is None
    assert picture_of(png(0, 4)) is None


def test_picture_that_is_too_large_is_rejected_with_the_reason():
    with refused("invalid_figure", "2 MB"):
        figures.checked("a.png", png(2, 2) + bytes(figures.MAX_BYTES))
    with refused("invalid_figure", "10,000"):
        figures.checked("a.png", png(2, 10_001))
    assert figures.checked("A b.jpeg", png(2, 2))[0] == "a-b.png"
