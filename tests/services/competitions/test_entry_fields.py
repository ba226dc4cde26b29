"""Fields of links and notes: the setting, links, numbers, hidden values."""

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.services.competitions import entry_fields
from grader.services.competitions.entry_fields import EntryField, FieldKind, InvalidDetails, is_public_link
from grader.services.competitions.settings_problems import InvalidCompetition
from grader.text import is_storable

FIELDS = "Paper: link\nCode: Link , Required\nData: text\nModel size (parameters): number"
LINK = "https://example.org/a?b=c#d"


def test_each_line_is_a_field():
    assert entry_fields.fields_of(FIELDS) == (
        EntryField("Paper", FieldKind.LINK, is_required=False),
        EntryField("Code", FieldKind.LINK, is_required=True),
        EntryField("Data", FieldKind.TEXT, is_required=False),
        EntryField("Model size (parameters)", FieldKind.NUMBER, is_required=False),
    )


@pytest.mark.parametrize(
    ("lines", "faults"),
    [
        (
            ["Paper", ": link", "a: link, optional", "a=b: text", f"{'x' * 65}: text"],
            [f"line {n}" for n in range(1, 6)],
        ),
        (["Paper: link", "paper: text"], ["line 2", "already listed"]),
        ([f"F{number}: text" for number in range(11)], ["line 11", "at most 10"]),
    ],
)
def test_faults_of_the_setting_are_reported_by_line(service, lines, faults):
    with pytest.raises(InvalidCompetition) as error:
        service.competition(entry_fields="\n".join(lines))
    assert [fault for fault in faults if fault not in error.value.message] == []


@pytest.mark.parametrize(
    "text",
    [
        "javascript:alert(1)",
        "JavaScript://example.org/%0aalert(1)",
        "data:text/html,x",
        "//example.org",
        "https:example.org",
        "https:///example.org",
        "https://ada:secret@example.org",
        "https://@example.org",
        "https://example.org\\@evil.example",
        "https://localhost/",
        "https://site.local/",
        "http://127.0.0.1/",
        "http://0x7f.1/",
        "http://2130706433/",
        "http://[::1]/",
        "http://intranet/",
        "https://example.org/a b",
        'https://example.org/"onclick=',
        "https://example.org/<script>",
        "https://exa\u200bmple.org:port/",
        "ftp://example.org",
        "",
    ],
)
def test_links_lead_to_public_hosts(text):
    assert not is_public_link(text)


@pytest.mark.parametrize(
    "text", [LINK, "HTTP://EXAMPLE.ORG.", "https://straße.example:8443/ä", "https://a.b.io/it's"]
)
def test_ordinary_links_are_accepted(text):
    assert is_public_link(text)


@given(
    st.text(alphabet="htps:/javcridx@.\\\t\n\"'<>#?%0[]-", max_size=30)
    | st.text(max_size=40).map("https://example.org/{}".format)
)
def test_every_accepted_link_is_a_plain_web_address(text):
    if is_public_link(text):
        assert text.lower().startswith(("https://", "http://"))
        assert not set(text) & set(' \t\r\n"<>\\')
        assert urlsplit(text).username is None


@given(
    st.dictionaries(
        st.sampled_from(["Paper", "Code", "Data", "Model size (parameters)"]),
        st.text() | st.integers() | st.floats(),
    )
)
def test_accepted_values_are_storable_and_shown_unchanged(sent):
    try:
        stored = entry_fields.edited(FIELDS, {}, sent)
    except InvalidDetails:
        return
    assert entry_fields.values(FIELDS, stored) == stored
    assert all(
        is_storable(value) and "\n" not in value for value in stored.values() if isinstance(value, str)
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("7e9", "7,000,000,000"),
        ("0.50", "0.5"),
        ("-3", "-3"),
        ("1e24", "1e+24"),
        ("1000000000000000000000000", "1e+24"),
    ],
)
def test_numbers_are_shown_in_one_form(text, shown):
    details = entry_fields.edited(FIELDS, {}, {"Model size (parameters)": text})
    assert [each.text for each in entry_fields.shown(FIELDS, details)] == [shown]


@pytest.mark.parametrize("text", ["nan", "inf", "1e999", "1_000", "1,000", "٣", "7B", "0x10"])
def test_other_texts_are_not_numbers(text):
    with pytest.raises(InvalidDetails, match="Enter a number"):
        entry_fields.edited(FIELDS, {}, {"Model size (parameters)": text})


def test_all_faults_of_the_values_are_reported():
    sent = {"Paper": "javascript:alert(1)", "Data": "x" * 301, "Nothing": "a"}
    with pytest.raises(InvalidDetails) as error:
        entry_fields.edited(FIELDS, {}, sent)
    assert [each.partition(" ")[0] for each in error.value.problems] == ["Paper:", "Data:", "There"]


def test_a_removed_field_hides_its_value_and_a_changed_kind_never_makes_a_link():
    stored = entry_fields.edited("Old: text\nNote: text", {}, {"Old": "kept", "Note": "javascript:alert(1)"})
    assert entry_fields.shown("Note: link", stored) == ()
    stored = entry_fields.edited("Note: link", stored, {"Note": LINK})
    assert entry_fields.values("Old: text\nNote: link", stored) == {"Old": "kept", "Note": LINK}
