"""Validation of webhook URLs and IP addresses to block access to internal networks.

The URL is validated when it is entered. For each delivery, the host name is resolved once, the IP address is
validated, and the connection uses the validated address.
"""

import re
from collections.abc import Collection, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from grader.errors import ParticipantError
from grader.hosts import ascii_name

MAX_LENGTH = 1000
SCHEMES = {"https": 443, "http": 80}
LOWEST_FREE_PORT = 1024
NOT_PUBLIC = "This address is not public. Enter an address that can be reached from the internet."

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# `inet_aton` and browsers interpret hosts such as 0x7f000001, 2130706433 and 127.1 as IPv4 addresses.
_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)\.?")
_LOCAL = re.compile(r"(?:.*\.)?localhost\.?")
_LOOPBACK = ip_address("127.0.0.1")
_NAT64 = (ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48"))
# Reserved IANA ranges that some supported Python versions report as public.
_SPECIAL = tuple(
    ip_network(text)
    for text in ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "3fff::/20", "5f00::/16", "fec0::/10")
)
_IPV4_COMPATIBLE = ip_network("::/96")


class InvalidWebhookUrl(ParticipantError):
    """The URL cannot be used for a webhook."""

    public_name = "invalid_webhook_url"


def clean_url(url: str, *, allows_http: bool, networks: Sequence[Network] = ()) -> str:
    """Return a normalized URL; raise InvalidWebhookUrl."""
    text = url.strip()
    schemes = ("https", "http") if allows_http else ("https",)
    needed = " or ".join(f"{scheme}://" for scheme in schemes)
    if len(text) > MAX_LENGTH or not text.isprintable() or re.search(r"[\s\\<>\"{}|^`]", text):
        raise InvalidWebhookUrl(
            f"The URL is invalid. Use at most {MAX_LENGTH:,} characters, without spaces or characters such "
            "as < and >."
        )
    try:
        parts = urlsplit(text)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        raise InvalidWebhookUrl("The URL is invalid. Enter a URL such as https://example.org/hook.") from None
    if parts.scheme not in schemes:
        raise InvalidWebhookUrl(f"The URL must start with {needed}.")
    if parts.username is not None or parts.password is not None:
        raise InvalidWebhookUrl("The URL contains a user name or password. Remove it.")
    if port is not None and port < LOWEST_FREE_PORT and port not in SCHEMES.values():
        raise InvalidWebhookUrl(f"Port {port} is not allowed. Use 80, 443, or {LOWEST_FREE_PORT} and above.")
    path = parts.path or "/"
    query = f"?{parts.query}" if parts.query else ""
    if not (path + query).isascii():
        raise InvalidWebhookUrl("The path of the URL contains non-ASCII characters. Percent-encode them.")
    return f"{parts.scheme}://{_clean_host(host, networks)}{'' if port is None else f':{port}'}{path}{query}"


def origin(url: str) -> str:
    """Return the part of a URL that is displayed, without the path, which may be secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/…"


def may_call(address: Address, *, networks: Collection[Network] = ()) -> bool:
    """Return whether an IP address is public or in a network that the operator allows.

    An IPv6 address with an embedded IPv4 address (mapped, translated or tunneled) must be in an allowed
    network, and webhooks must also be allowed to call the IPv4 address.
    """
    is_named = any(address.version == network.version and address in network for network in networks)
    inner = _inner(address)
    if inner is not None:
        return is_named and may_call(inner, networks=networks)
    if is_named:
        return True
    # `is_global` is false for loopback, link-local, private, shared (100.64/10), reserved and documentation
    # addresses.
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
        name = ascii_name(host)
    except ValueError:
        raise InvalidWebhookUrl(
            "The URL has no valid host name. Enter a URL such as https://example.org/hook."
        ) from None
    if _NUMBER.fullmatch(name):
        raise InvalidWebhookUrl(
            "The IP address is invalid. Write it as four decimal numbers, such as 203.0.113.7."
        )
    if _LOCAL.fullmatch(name) and not may_call(_LOOPBACK, networks=networks):
        raise InvalidWebhookUrl(NOT_PUBLIC)
    return name
