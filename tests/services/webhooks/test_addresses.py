"""URLs and IP addresses that webhooks may access."""

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.services.webhooks.addresses import MAX_LENGTH, InvalidWebhookUrl, clean_url, may_call, origin

PRIVATE = [
    *("0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.8.8.8", "169.254.169.254", "172.16.0.1"),
    *("192.0.0.8", "192.0.2.1", "192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.9", "224.0.0.1"),
    *("239.255.255.250", "240.0.0.1", "255.255.255.255", "::", "::1", "::7f00:1", "::ffff:127.0.0.1"),
    *("::ffff:8.8.8.8", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::a00:1"),
    *("2002:7f00:1::", "2002:808:808::", "2001:0:808:808::f7f7:f7f7", "2001:db8::1", "3fff::1", "5f00::1"),
    *("fc00::1", "fd12::1", "fe80::1", "fec0::1", "ff02::1"),
]
PUBLIC = ["8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "2a00:1450:4001:81b::200e"]


@pytest.mark.parametrize("address", PRIVATE)
def test_no_internal_address_is_called_in_any_notation(address: str):
    assert not may_call(ip_address(address))


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_called(address: str):
    assert may_call(ip_address(address))


def test_only_networks_allowed_by_the_operator_are_called():
    networks = (ip_network("10.1.0.0/16"), ip_network("64:ff9b::/96"))
    assert may_call(ip_address("10.1.2.3"), networks=networks)
    assert not may_call(ip_address("10.2.2.3"), networks=networks)
    assert may_call(ip_address("64:ff9b::808:808"), networks=networks)
    assert not may_call(ip_address("64:ff9b::a02:1"), networks=networks)
    assert not may_call(ip_address("::ffff:10.1.2.3"), networks=networks)


@pytest.mark.parametrize(
    "host",
    [
        "0x7f000001",
        "2130706433",
        "127.1",
        "0177.0.0.1",
        "x.0X7F",
        "127.1.",
        "\uff11\uff12\uff17.1",
        "localhost",
        "a.Localhost.",
    ],
)
def test_host_that_some_parsers_read_as_an_internal_address_is_rejected_on_entry(host: str):
    with pytest.raises(InvalidWebhookUrl):
        clean_url(f"https://{host}/hook", allows_http=False)


def test_host_is_stored_in_the_form_that_browsers_resolve():
    assert clean_url("https://Straße.example/hook", allows_http=False) == "https://xn--strae-oqa.example/hook"


def test_local_name_is_accepted_if_the_operator_allows_its_network():
    url = "http://localhost:8080/"
    assert clean_url(url, allows_http=True, networks=[ip_network("127.0.0.0/8")]) == url


@given(st.ip_addresses(v=4))
def test_embedded_address_is_never_called_by_default(inner: object):
    number = int(inner)  # type: ignore[call-overload]
    for hidden in (
        0xFFFF << 32 | number,
        int(ip_address("64:ff9b::")) | number,
        0x2002 << 112 | number << 80,
    ):
        assert not may_call(ip_address(hidden.to_bytes(16)))


@pytest.mark.parametrize(
    ("entered", "called"),
    [
        (" https://Example.org ", "https://example.org/"),
        ("https://example.org:8443/a/b?c=d#e", "https://example.org:8443/a/b?c=d"),
        ("https://bücher.example/x", "https://xn--bcher-kva.example/x"),
        ("https://[2606:4700:4700::1111]/", "https://[2606:4700:4700::1111]/"),
        ("https://8.8.8.8", "https://8.8.8.8/"),
    ],
)
def test_url_is_stored_in_the_form_that_is_called(entered: str, called: str):
    assert clean_url(entered, allows_http=False) == called
    assert clean_url(called, allows_http=False) == called


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org",
        "http://example.org/",
        "ftp://example.org/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https://",
        "https:///path",
        "https://ada:secret@example.org/",
        "https://ada@example.org/",
        "https://example.org:22/",
        "https://example.org:0/",
        "https://example.org:99999/",
        "https://example.org/ space",
        "https://example.org/\r\nX-Header: 1",
        "https://example.org\\@127.0.0.1/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://[fe80::1%25eth0]/",
        "https://[::ffff:127.0.0.1]/",
        "https://169.254.169.254/latest/meta-data",
        "https://exa_mple..org/",
        "https://example.org/größe",
        "https://" + "a" * MAX_LENGTH,
        "https://[example.org]/",
        "https://example.org/\ud800",
    ],
)
def test_invalid_webhook_url_is_rejected(url: str):
    with pytest.raises(InvalidWebhookUrl):
        clean_url(url, allows_http=False)


def test_http_is_accepted_if_the_operator_allows_it():
    assert clean_url("http://example.org/", allows_http=True) == "http://example.org/"


@given(st.text(max_size=60))
def test_any_text_is_a_url_or_rejected_with_a_message(text: str):
    for url in (text, f"https://{text}", f"https://example.org/{text}"):
        try:
            cleaned = clean_url(url, allows_http=True)
        except InvalidWebhookUrl as error:
            assert error.message
        else:
            assert cleaned.isascii() and cleaned.isprintable() and " " not in cleaned


def test_displayed_url_does_not_contain_its_path():
    assert (
        origin("https://hooks.example.org:8443/services/T0/B0/secret?x=1")
        == "https://hooks.example.org:8443/…"
    )
