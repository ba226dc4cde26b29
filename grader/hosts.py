"""ASCII host names, site origins, and client addresses."""

import re
from contextlib import suppress
from ipaddress import IPv4Address, ip_address, ip_network
from urllib.parse import urlsplit

PORTS = {"http": 80, "https": 443}
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?")


def ascii_name(host: str) -> str:
    """Return the form of a host name that browsers resolve, compare and send; raise ValueError.

    Examples
    --------
    >>> ascii_name("Straße.example"), ascii_name("STRASSE.example")
    ('xn--strae-oqa.example', 'strasse.example')
    """
    import idna  # its tables would slow down the start of every process

    with suppress(idna.IDNAError):
        labels = idna.uts46_remap(host[:1_000], std3_rules=False).split(".")
        name = ".".join(label if label.isascii() else idna.alabel(label).decode() for label in labels)
        if len(name) <= 253 and _NAME.fullmatch(name):
            return name
    raise ValueError(f"{host[:100]!r} is not a host name")


def ascii_host(host: str) -> str:
    """Return a host name in ASCII, or an IP address in its shortest form; raise ValueError."""
    with suppress(ValueError):
        address = ip_address(host)
        return f"[{address}]" if address.version == 6 else str(address)
    return ascii_name(host)


def origin(url: str) -> str:
    """Return the scheme, host and port of a site in the form that browsers send.

    Raises ValueError for other URLs.
    """
    with suppress(ValueError):
        parts = urlsplit(url.strip())
        host, port = ascii_host(parts.hostname or ""), parts.port
        is_more = "@" in parts.netloc or parts.path.strip("/") or parts.query or parts.fragment
        if parts.scheme in PORTS and "%" not in host and not is_more:
            return f"{parts.scheme}://{host}" + ("" if port in (None, PORTS[parts.scheme]) else f":{port}")
    raise ValueError("expected an address without user name and path, such as https://fairboard.example.org")


def client_address(peer: str, forwarded_for: str, *, proxies: int) -> str:
    """Return the address in `X-Forwarded-For` that the outermost of the trusted proxies added.

    If there is none, or if it is not an IP address, the result is the `peer`, so that no client can choose
    the name under which its requests are counted.
    """
    entries = forwarded_for.split(",")
    if not 0 < proxies <= len(entries):
        return peer
    text = entries[-proxies].strip().strip('"')  # as some proxies write it; it may also have a port
    with suppress(ValueError):
        host = text if text.count(":") > 1 and "[" not in text else urlsplit(f"//{text}").hostname or ""
        return str(ip_address(host.partition("%")[0]))
    return peer


def network(address: str | None) -> str:
    """Return an IPv4 address, or the /64 network of an IPv6 address, which counts as one address."""
    with suppress(ValueError):
        parsed = ip_address((address or "").partition("%")[0])
        if isinstance(parsed, IPv4Address):
            return str(parsed)
        return str(parsed.ipv4_mapped or ip_network((parsed, 64), strict=False))
    return address or ""
