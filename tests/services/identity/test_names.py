"""Name validation, and names that count as the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.services.identity import names
from grader.services.identity.names import InvalidName, clean_name, name_key
from grader.text import folded
from tests.fixtures.refusals import refused


def valid(text):
    try:
        return clean_name(text)
    except InvalidName:
        return None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ada", "ADA"),
        ("ada", "\uff41da"),
        ("Ada", "\u0410d\u0430"),  # Cyrillic
        ("paypal", "paypaI"),
        ("modern", "modem"),
        ("Москва", "москва"),
        ("café", "cafe\u0301"),
        ("Team 10", "team lO"),
        ("سس\u200cسس", "سسسس"),
        ("क्\u200dष", "क्ष"),
        ("Team Alpha", "\u00b7Team Alpha"),
        ("Team Alpha", "Team-Alpha"),
        ("Team Alpha", "~Team Alpha~"),
        ("Team Alpha", "Team Alpha \ua4f8"),
    ],
)
def test_similar_names_and_names_in_another_letter_case_are_the_same(one, other):
    assert name_key(clean_name(one)) == name_key(clean_name(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ada", "Eda"),
        ("café", "cafe"),
        ("Team 1", "Team 2"),
        ("Иван", "Ivan"),
        ("名前", "名刺"),
        ("C", "C++"),
        ("Team", "Team \U0001f680"),
        ("\u0661", "\u0661\u0660"),
    ],
)
def test_different_names_are_distinct(one, other):
    assert name_key(clean_name(one)) != name_key(clean_name(other))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("evil\u202ename", r"U\+202E"),
        ("zero\u200bwidth", r"U\+200B"),
        ("jo\u200cin", r"U\+200C"),
        ("سس\u200dسس", r"U\+200D"),
        ("س\u200c" * 2000, r"U\+200C"),
        ("blank\u2800", r"U\+2800"),
        ("line\nbreak", r"U\+000A"),
        ("Z" + "\u0335" * 30 + "algo", "marks"),
        ("\u0301ada", "starts with a combining mark"),
        ("---", "letter or digit"),
        ("a\u0328\u0301" * 65, "has 65 characters"),
        (" ", "has 0 characters"),
        ("\ud800", r"U\+D800"),
        ("x" * 1_000_000, "has 1,000,000 characters"),
    ],
)
def test_invalid_name_is_rejected_with_its_reason(name, why):
    with pytest.raises(InvalidName, match=why):
        clean_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "g\u0308" * 64,
        "नमस्ते" * 16,
        "👩🏽" * 60 + "x",
        "❤ 7",
        "سس\u200cسس",
        "क्\u200dष",
        "क्\u200cष",
    ],
)
def test_length_is_counted_in_visible_characters(name):
    assert clean_name(name) == name


def test_numbered_name_is_a_valid_name():
    assert names.numbered("Ada", 2) == "Ada (2)"
    for name in ("a" * 64, "g\u0308" * 64, "नमस्ते" * 16, "\U0001f469\U0001f3fd" * 60 + "x"):
        numbered = names.numbered(name, 12)
        assert clean_name(numbered) == numbered
        assert numbered.endswith(" (12)")


def test_name_of_a_deleted_account_is_reserved():
    for name in ("Deleted-17", "deleted 107", "DELETED\u20110", "Team of deleted-3"):
        assert names.is_reserved(clean_name(name))
        assert names.is_reserved(clean_name(name), is_admin=True)
    assert not names.is_reserved(clean_name("deleted"))


@pytest.mark.parametrize(
    "name",
    [
        "Organizers",
        "Fairboard Team",
        "-anonymous-",
        "\u0391dmin",  # Greek
        "R00T",
        "Official Support",
    ],
)
def test_site_names_are_reserved_in_every_script_and_with_any_punctuation(name):
    assert names.is_reserved(clean_name(name))
    with refused("reserved_name", match="is reserved"):
        names.require_unreserved(clean_name(name))


@pytest.mark.parametrize("name", ["Rooter", "Adminton", "Supporters of AUC", "Hostettler", "Systematic"])
def test_names_that_only_contain_a_reserved_word_are_free(name):
    assert not names.is_reserved(clean_name(name))


def test_administrator_may_use_the_word_but_not_the_name_of_the_site():
    for name in ("admin", "organizer"):
        assert not names.is_reserved(name, is_admin=True)
    assert names.is_reserved("Organizers", is_admin=True)


@given(st.text(st.characters(codec="utf-8"), max_size=90))
def test_any_text_is_either_a_clean_name_or_rejected(text):
    shown = valid(text)
    if shown is not None:
        assert clean_name(shown) == shown
        assert 1 <= len(shown) <= names.MAX_CODE_POINTS
        assert 1 <= len(name_key(shown)) <= names.KEY_LENGTH
        assert len(folded(shown)) <= names.MAX_CODE_POINTS


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=64))
def test_ascii_names_are_the_same_in_any_letter_case(text):
    shown = valid(text)
    if shown is not None:
        assert name_key(shown) == name_key(shown.upper()) == name_key(shown.lower())
