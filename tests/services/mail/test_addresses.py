"""Validation and normalization of e-mail addresses."""

import pytest

from grader.services.mail.addresses import InvalidAddress, clean_address


@pytest.mark.parametrize(
    ("entered", "address"),
    [
        (" Ada@Straße.example ", "Ada@xn--strae-oqa.example"),
        ("ada@STRASSE.example", "ada@strasse.example"),
        ("ada@βόλος.example", "ada@xn--nxasmm1c.example"),
        ("ada@bücher。example", "ada@xn--bcher-kva.example"),
    ],
)
def test_domain_is_stored_in_the_form_to_which_mail_is_sent(entered: str, address: str):
    assert clean_address(entered) == address


@pytest.mark.parametrize(
    "entered", ["ada", "ada@", "ada@a..b", "ada@℀.example", "ada@my_host.example", "a@b\nc"]
)
def test_text_that_is_no_address_is_rejected(entered: str):
    with pytest.raises(InvalidAddress):
        clean_address(entered)
