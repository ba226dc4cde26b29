"""Stored ZIP archives: compatibility, equal bytes from any offset, sizes above 4 GB."""

import io
import zipfile
import zlib

from hypothesis import given
from hypothesis import strategies as st

from grader.services.solutions.data_archive import Member, StoredZip
from grader.storage.stores import stream


def member(name: str, data: bytes) -> Member:
    return Member(name, len(data), zlib.crc32(data), lambda place, length: data[place : place + length])


def opened(packed: StoredZip) -> io.BufferedIOBase:
    return stream(packed.size, packed.read_at, piece_bytes=1 << 16)  # type: ignore[return-value]


@given(
    st.dictionaries(st.text("aé .-", min_size=1, max_size=9), st.binary(max_size=99), max_size=5), st.data()
)
def test_zip_contains_its_files_and_is_the_same_from_any_offset(files: dict[str, bytes], data: st.DataObject):
    packed = StoredZip([member(name, content) for name, content in files.items()])
    whole = opened(packed).read()
    assert len(whole) == packed.size
    with zipfile.ZipFile(io.BytesIO(whole)) as found:
        assert found.testzip() is None
        assert {name: found.read(name) for name in found.namelist()} == files
    stream = opened(packed)
    stream.seek(place := data.draw(st.integers(0, packed.size)))
    assert stream.read() == whole[place:]


def test_files_beyond_4_gb_are_found():
    huge = [Member(f"{n}.bin", 2_000_000_000, 0, lambda place, length: b"x" * length) for n in range(3)]
    packed = StoredZip([*huge, member("last.txt", b"the end")])
    assert packed.size > 6_000_000_000
    with zipfile.ZipFile(opened(packed)) as found:  # type: ignore[call-overload]
        assert found.namelist() == ["0.bin", "1.bin", "2.bin", "last.txt"]
        assert found.read("last.txt") == b"the end"
        assert found.open("2.bin").read(3) == b"xxx"
