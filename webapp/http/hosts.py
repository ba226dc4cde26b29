"""Allowed host names of the site, and absolute links such as an invitation (the public base URL).

A request says itself which host it asks, and can say anything: a link is made of what the operator has said,
or of a name that is certainly this machine's.
"""

import ipaddress
import socket
from collections.abc import Collection
from contextlib import suppress
from functools import lru_cache
from typing import Any

import psutil  # type: ignore[import-untyped]
from flask import Flask, request, url_for
from flask.typing import ResponseReturnValue

from grader.settings import PREFIX
from webapp.http.site import current_site

UNKNOWN = (
    "This site does not answer to the host name of this request. Operators set its names in "
    f"{PREFIX}BASE_URL or {PREFIX}TRUSTED_HOSTS."
)


def init_app(app: Flask) -> None:
    """Refuse requests for other names, first of all, and let templates make links."""
    app.before_request(refuse_unknown)
    app.add_template_global(link, "site_link")


def refuse_unknown() -> ResponseReturnValue | None:
    """Refuse a name that nobody said is this site's; what machines ask that look after it holds no link."""
    if request.blueprint == "health" or _is_address(_name()):
        return None  # a name can be made to lead here by anybody, an address cannot
    trusted = current_site().settings.trusted_names()
    if trusted is None or _is_among(_name(), trusted):
        return None
    return {"code": 400, "error": "unknown_host", "message": UNKNOWN}, 400


def link(endpoint: str, **values: Any) -> str:
    """Return the address of a page for who is not here: in an invitation, or on paper."""
    return _base() + url_for(endpoint, **values)


def _base() -> str:
    """Return the site's public address; without one that of this request where it is known to be ours."""
    settings = current_site().settings
    if settings.base_url:
        return settings.base_url.rstrip("/")
    if _name() in _own_names() or _is_among(_name(), settings.trusted_names() or ()):
        return request.url_root.rstrip("/")
    return settings.site()


def _name() -> str:
    """Return the host of this request without its port."""
    name, colon, port = request.host.rpartition(":")
    host = name if colon and port.isdigit() else request.host
    return host.strip("[]").rstrip(".").lower()


def _is_among(name: str, trusted: Collection[str]) -> bool:
    return any(name == each or (each.startswith(".") and name.endswith(each)) for each in trusted)


def _is_address(name: str) -> bool:
    with suppress(ValueError):
        return bool(ipaddress.ip_address(name))
    return False


@lru_cache(maxsize=1)
def _own_names() -> frozenset[str]:
    addresses = (each.address for interface in psutil.net_if_addrs().values() for each in interface)
    names = {"localhost", socket.gethostname().lower()}
    return frozenset({*names, *(address.partition("%")[0] for address in addresses)})
