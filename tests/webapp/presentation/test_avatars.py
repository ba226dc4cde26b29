"""Avatars: symmetry, determinism, markup without inline styles."""

import re
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from webapp.presentation import avatars

keys = st.binary(min_size=8, max_size=8).map(bytes.hex)


def squares(path: str) -> set[tuple[int, int]]:
    def found() -> Iterator[tuple[int, int]]:
        for column, row, length in re.findall(r"M(\d) (\d)h(\d)v1h-\d", path):
            yield from ((int(column) + step, int(row)) for step in range(int(length)))

    return set(found())


@given(keys)
def test_a_pattern_is_symmetrical_and_neither_empty_nor_full(key: str):
    drawn = squares(avatars.pattern(key)[0])
    assert drawn == {(4 - column, row) for column, row in drawn}
    assert 4 <= len(drawn) <= 23


@given(keys)
def test_a_key_always_has_the_same_picture_without_a_style(key: str):
    picture = avatars.svg(key, "l")
    assert picture == avatars.svg(key, "l")
    assert "style" not in picture and len(picture) < 500
    assert re.fullmatch(r'<svg class="avatar l hue-\d" [^>]*><path d="[^"]+"/></svg>', picture)


def test_a_missing_key_has_the_plain_picture():
    assert avatars.svg(None) == avatars.svg("")
    assert "hue-none" in avatars.svg(None)


def test_different_keys_have_different_pictures():
    drawn = {avatars.svg(f"{number * 0x9E3779B97F4A7C15 % 2**64:016x}") for number in range(1, 200)}
    assert len(drawn) > 190


@given(st.text(max_size=20), st.text(max_size=20))
def test_keys_and_sizes_are_not_copied_into_the_markup(key: str, size: str):
    assert re.fullmatch(
        r'<svg class="avatar [sml] hue-\w+" [^>]*><path d="[^"<>]*"/></svg>', avatars.svg(key, size)
    )
