"""Plain texts: removal of characters that reorder text, and cells of CSV files."""

import pytest

from grader.prose import markdown
from grader.text import one_line, plain_text, safe

REORDERING = [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]


@pytest.mark.parametrize("code", REORDERING)
def test_characters_that_reorder_text_are_removed(code):
    text = f"gnp.{chr(code)}exe"
    assert one_line(text, 99) == plain_text(text) == "gnp.exe"
    assert "gnp.exe" in markdown.drawn(f"gnp.&#{code};exe").html
    assert one_line("a\u200fb", 9) == "a\u200fb"  # Hebrew and Arabic texts need these marks.


def test_settings_and_descriptions_contain_no_reordering_characters(arena):
    arena.competition()
    root, ann = arena.person("Root", is_admin=True), arena.person("Ann")
    odd = "a\u202eb\u2066c"
    api, sent = "/api/v1/competitions/toxicity", dict.fromkeys(("title", "overview", "rules"), odd)
    client = arena.app.test_client()
    assert client.patch(f"{api}/organize/settings", json=sent, headers=root.bearer).status_code == 200
    accepted = {"csrf_token": arena.form_token(ann.browser, "/account"), "accepted_rules_version": "2"}
    assert ann.browser.post("/competitions/toxicity/join", data=accepted).status_code == 303
    arena.submit(ann, arena.truth.predictions(), description=odd)
    for path in ("/api/v1/competitions/toxicity", f"{api}/submissions", f"{api}/organize/settings"):
        body = client.get(path, headers=(ann if "organize" not in path else root).bearer).text
        assert "abc" in body and "202e" not in body and "2066" not in body


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_a_cell_that_looks_like_a_formula_is_prefixed_with_an_apostrophe(start):
    assert safe(f"{start}1+1") == f"'{start}1+1"
    assert safe(f" {start}1") == f"' {start}1"
    assert safe(f"a{start}1") == f"a{start}1"


@pytest.mark.parametrize("text", ["-0.00398", "-2", "+0.08126", "+3"])
def test_a_signed_number_is_not_escaped(text):
    assert safe(text) == text
    assert safe(f"{text}-1") == f"'{text}-1"
