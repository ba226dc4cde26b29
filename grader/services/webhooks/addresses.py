"""URLs and IP addresses of webhooks, outside the operator's network.

The URL is checked when it is entered. The IP address is checked for each delivery after one look-up of the
name, and the connection uses the checked address.
"""

import re
from collections.abc import Collection, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from grader.errors import ParticipantError

MAX_LENGTH = 1000
SCHEMES = {"https": 443, "http": 80}
LOWEST_FREE_PORT = 1024
NOT_PUBLIC = "This server does not call this address: it is not a public one."

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?", re.ASCII)
# Inet_aton and browsers read such a host as an IPv4 address: 0x7f000001, 2130706433, 127.1.
_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)\.?")
_LOCAL = re.compile(r"(?:.*\.)?localhost\.?")
_LOOPBACK = ip_address("127.0.0.1")
_NAT64 = (ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48"))
# Of IANA's registries, what some of the Python versions that we run on take for public.
_SPECIAL = tuple(
    ip_network(text)
    for text in ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "3fff::/20", "5f00::/16", "fec0::/10")
)
_IPV4_COMPATIBLE = ip_network("::/96")


class InvalidWebhookUrl(ParticipantError):
    """A URL that a webhook cannot have."""

    public_name = "invalid_webhook_url"


def clean_url(url: str, *, allows_http: bool, networks: Sequence[Network] = ()) -> str:
    """Return a normalized URL; raise InvalidWebhookUrl."""
    text = url.strip()
    schemes = ("https", "http") if allows_http else ("https",)
    needed = " or ".join(f"{scheme}://" for scheme in schemes)
    if len(text) > MAX_LENGTH or not text.isprintable() or re.search(r"[\s\\<>\"{}|^`]", text):
        raise InvalidWebhookUrl(f"A webhook's URL has at most {MAX_LENGTH:,} characters, and no spaces.")
    try:
        parts = urlsplit(text)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        raise InvalidWebhookUrl("This is not a URL such as https://example.org/hook.") from None
    if parts.scheme not in schemes:
        raise InvalidWebhookUrl(f"A webhook's URL begins with {needed}.")
    if parts.username is not None or parts.password is not None:
        raise InvalidWebhookUrl("A webhook's URL holds no user name and no password.")
    if port is not None and port < LOWEST_FREE_PORT and port not in SCHEMES.values():
        raise InvalidWebhookUrl(f"A webhook's port is 80, 443, or {LOWEST_FREE_PORT} and above.")
    path = parts.path or "/"
    query = f"?{parts.query}" if parts.query else ""
    if not (path + query).isascii():
        raise InvalidWebhookUrl("The path of a webhook's URL has to be percent-encoded.")
    return f"{parts.scheme}://{_clean_host(host, networks)}{'' if port is None else f':{port}'}{path}{query}"


def origin(url: str) -> str:
    """Return the shown part of a URL: its path may be a secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/…"


def may_call(address: Address, *, networks: Collection[Network] = ()) -> bool:
    """Return whether an IP address is public or in a network that the operator allows.

    An IPv6 address with an embedded IPv4 address (mapped, translated, tunnelled) must be in an allowed
    network, and the IPv4 address must be callable too.
    """
    is_named = any(address.version == network.version and address in network for network in networks)
    inner = _inner(address)
    if inner is not None:
        return is_named and may_call(inner, networks=networks)
    if is_named:
        return True
    # `is_global` knows loopback, link-local, private, shared (100.64/10), reserved and documentation.
    is_special = address.is_multicast or address.is_reserved or address.is_unspecified
    return address.is_global and not is_special and not any(address in each for each in _SPECIAL)


def _inner(address: Address) -> IPv4Address | None:
    if isinstance(address, IPv4Address):
        return None
    if (address in _IPV4_COMPATIBLE and int(address) > 1) or any(address in each for each in _NAT64):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)


def _clean_host(host: str, networks: Sequence[Network]) -> str:
    try:
        address = ip_address(host)
    except ValueError:
        return _clean_name(host, networks)
    if getattr(address, "scope_id", None) or not may_call(address, networks=networks):
        raise InvalidWebhookUrl(NOT_PUBLIC)
    return f"[{address}]" if address.version == 6 else str(address)


def _clean_name(host: str, networks: Sequence[Network]) -> str:
    try:
        name = host.encode("idna").decode().lower()
    except UnicodeError:
        name = ""
    if len(name) > 253 or not _NAME.fullmatch(name):
        raise InvalidWebhookUrl("A webhook's URL names a host, such as https://example.org/hook.")
    if _NUMBER.fullmatch(name):
        raise InvalidWebhookUrl("Write an IPv4 address as four decimal numbers, such as 203.0.113.7.")
    if _LOCAL.fullmatch(name) and not may_call(_LOOPBACK, networks=networks):
        raise InvalidWebhookUrl(NOT_PUBLIC)
    return name
