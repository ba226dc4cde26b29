"""Validation and normalization of e-mail addresses."""

import pytest

from grader.services.site.mail_addresses import InvalidAddress, clean_address


@pytest.mark.parametrize(
    ("entered", "address"),
    [
        (" Ada@Straße.example ", "Ada@xn--strae-oqa.example"),
        ("a.b+c@STRASSE.example", "a.b+c@strasse.example"),
        ("ada@βόλος.example", "ada@xn--nxasmm1c.example"),
        ("ada@bücher。example", "ada@xn--bcher-kva.example"),
    ],
)
def test_domain_is_stored_in_the_form_to_which_mail_is_sent(entered, address):
    assert clean_address(entered) == address


@pytest.mark.parametrize(
    "entered",
    [
        *("", "ada", "ada@", "@example.org", "a b@example.org", '"a b"@example.org', "żółw@example.org"),
        *("ada@a..b", "ada@℀.example", "ada@my_host.example", "ada@-x.org", "ada@" + "x" * 64 + ".org"),
        *("ada@example.org\nBcc: eve@example.org", "ada@example.org, eve@example.org"),
        *(
            "a" * 65 + "@example.org",
            "a" * 64 + "@" + "b." * 100 + "org",
            "a@" + "b." * 200 + "org",
            "@" * 100_000,
        ),
    ],
)
def test_text_that_is_no_address_is_rejected(entered):
    with pytest.raises(InvalidAddress):
        clean_address(entered)
