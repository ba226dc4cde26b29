"""Imprint and privacy links."""

import pytest

from grader.settings import Settings


def test_footer_links_to_the_imprint_and_the_privacy_policy(make_arena):
    arena = make_arena(
        imprint_url="https://uni.example/imprint", privacy_url="https://uni.example/privacy?a=1&b"
    )
    footer = arena.app.test_client().get("/nothing").text.partition("<footer")[2]
    assert '<a href="https://uni.example/privacy?a=1&amp;b">Privacy</a>' in footer
    assert '<a href="https://uni.example/imprint">Imprint</a>' in footer


@pytest.mark.parametrize("wrong", [{"imprint_url": "javascript:alert(1)"}, {"privacy_url": "uni"}])
def test_unusable_settings_are_rejected(wrong):
    with pytest.raises(ValueError, match="https://"):
        Settings(**wrong)
