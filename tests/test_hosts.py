"""ASCII host names, site origins, and client addresses."""

import pytest

from grader.hosts import ascii_host, client_address, network, origin


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("Straße.Example", "xn--strae-oqa.example"),
        ("STRASSE.example", "strasse.example"),
        ("xn--strae-oqa.example", "xn--strae-oqa.example"),
        ("βόλος.example", "xn--nxasmm1c.example"),
        ("क्\u200dष.example", "xn--11b2ezcw70k.example"),
        ("bücher。example", "xn--bcher-kva.example"),
        ("my_host", "my_host"),
        ("2001:DB8:0::1", "[2001:db8::1]"),
    ],
)
def test_host_names_have_one_ascii_form_which_keeps_different_names_apart(host, name):
    assert ascii_host(host) == name


@pytest.mark.parametrize(
    "host", ["", "a..b", "a b", "℀.example", "-a.example", "x" * 64, "x." * 130, "a\u200db", "a@b", "[::1]"]
)
def test_text_that_is_no_host_name_is_rejected(host):
    with pytest.raises(ValueError, match="is not a host name"):
        ascii_host(host)


@pytest.mark.parametrize(
    ("forwarded_for", "address"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("10.0.0.1:50312", "10.0.0.1"),
        ("forged, 10.0.0.1:50312", "10.0.0.1"),
        ('"forged, 10.0.0.1', "10.0.0.1"),
        ("[2001:db8::1]:50312", "2001:db8::1"),
        ('"[2001:db8::1]"', "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("[fe80::1%25eth0]:1", "fe80::1"),
        ("10.0.0.1,", "192.0.2.9"),
        ("unknown", "192.0.2.9"),
        ("for=10.0.0.1", "192.0.2.9"),
        ("10.0.0.1 10.0.0.2", "192.0.2.9"),
        ("", "192.0.2.9"),
    ],
)
def test_the_address_that_a_proxy_adds_is_read_and_other_text_is_ignored(forwarded_for, address):
    assert client_address("192.0.2.9", forwarded_for, proxies=1) == address
    assert client_address("192.0.2.9", f"{forwarded_for}, 10.9.9.9", proxies=2) == address
    assert client_address("192.0.2.9", forwarded_for, proxies=0) == "192.0.2.9"


def test_addresses_of_one_customer_are_counted_together():
    assert network("2001:db8::1:2") == network("2001:db8::ffff%eth0") == "2001:db8::/64"
    assert network("::ffff:10.0.0.1") == network("10.0.0.1") == "10.0.0.1"


@pytest.mark.parametrize(
    "url",
    [
        *("https://example.org/board", "https://ada:hush@example.org", "https://example.org/?q=1#f"),
        *("ftp://example.org", "example.org", "https://", "http://[", "https://[fe80::1%25eth0]"),
        "https://example.org:99999",
    ],
)
def test_url_that_is_no_origin_is_rejected(url):
    with pytest.raises(ValueError, match="expected an address"):
        origin(url)


@pytest.mark.parametrize(
    ("url", "normalized"),
    [
        (" HTTPS://Board.Example.ORG:443/ ", "https://board.example.org"),
        ("http://straße.example:8080", "http://xn--strae-oqa.example:8080"),
        ("https://[2001:DB8::1]", "https://[2001:db8::1]"),
    ],
)
def test_origins_are_normalized_as_browsers_send_them(url, normalized):
    assert origin(url) == normalized
