"""The running site: shared components, caches of recently used values, host names, links, broker."""

import hashlib
import ipaddress
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast
from urllib.parse import urlsplit

import psutil  # type: ignore[import-untyped]
from flask import current_app, request, url_for
from flask.typing import ResponseReturnValue
from itsdangerous import URLSafeTimedSerializer

from grader import counters
from grader.db import Database
from grader.hosts import origin
from grader.services.identity.passwords import BoundedHasher
from grader.settings import PREFIX, Settings
from grader.storage.stores import Storage

if TYPE_CHECKING:
    from grader.services.identity.openid_connect import OpenIDConnect
    from grader.worker.broker import Hints

UNKNOWN_HOST = (
    "This site does not accept the host name of this request. Operators configure host names in "
    f"{PREFIX}BASE_URL or {PREFIX}TRUSTED_HOSTS."
)
T = TypeVar("T")
PAGE_SECONDS = 5.0


class Keep(Protocol):
    """A cache that returns the value of a key, computed by `make` if it is missing or not fresh."""

    def __call__(self, key: Hashable, make: Callable[[], T], is_fresh: Callable[[T], bool] = ...) -> T:
        """Return the value of a key."""


class _Entry:
    """A value, the time at which it was ready, and the lock under which it is computed once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.value: tuple[Any] | None = None
        self.since = 0.0


class Recent:
    """The most recently used values; concurrent callers wait for one computation of a value."""

    def __init__(self, count: int, *, seconds: float = float("inf")) -> None:
        self.seconds = seconds
        self._count, self._lock = count, threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()

    def get(
        self, key: Hashable, make: Callable[[], T], is_fresh: Callable[[T], bool] = lambda _value: True
    ) -> T:
        """Return the value of a key, computed by `make` if it is missing, too old or not fresh."""
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
            while len(self._entries) > self._count:
                self._entries.popitem(last=False)
        with entry.lock:
            kept = entry.value if time.monotonic() - entry.since < self.seconds else None
            is_hit = kept is not None and is_fresh(kept[0])
            counters.CACHES.add("leaderboards", "hit" if is_hit else "miss")
            if not is_hit:
                entry.value = (make(),)
                entry.since = time.monotonic()
            value: T = entry.value[0]  # type: ignore[index]
        return value


@dataclass(frozen=True, slots=True)
class Site:
    """The components that the requests of one process share."""

    settings: Settings
    database: Database
    storage: Storage
    hints: "Hints"
    passwords: BoundedHasher
    trusted_names: frozenset[str] | None = None
    providers: Mapping[str, "OpenIDConnect"] = field(default_factory=dict)
    differences: Recent = field(default_factory=lambda: Recent(4))  # 20 MB each with 10,000 teams
    pages: Recent = field(default_factory=lambda: Recent(128, seconds=PAGE_SECONDS))
    charts: Recent = field(default_factory=lambda: Recent(12))

    @property
    def is_https(self) -> bool:
        """Whether the site's public URL uses HTTPS, which makes every cookie `Secure`."""
        return (self.settings.base_url or "").startswith("https://")

    def cookie_name(self, name: str) -> str:
        """Return a cookie's name; with HTTPS, its prefix binds the cookie to this host."""
        return f"__Host-{name}" if self.is_https else name


def signer(salt: str) -> URLSafeTimedSerializer:
    """Return the signer of a kind of data that clients keep."""
    options = {"digest_method": hashlib.sha256}
    return URLSafeTimedSerializer(current_site().settings.secret(), salt=salt, signer_kwargs=options)


def current_site() -> Site:
    """Return the site of the current request."""
    return cast(Site, current_app.extensions["fairboard"])


def refuse_unknown_host() -> ResponseReturnValue | None:
    """Reject requests for unknown host names, except health checks, which contain no links."""
    if request.blueprint == "health" or _is_address(_host()):
        return None  # Anyone can point a host name at this server, but not an IP address.
    trusted = current_site().trusted_names
    if trusted is None or _is_among(_host(), trusted):
        return None
    return {"code": 400, "error": "unknown_host", "message": UNKNOWN_HOST}, 400


def site_link(endpoint: str, **values: Any) -> str:
    """Return the absolute URL of a page, for e-mails and exports."""
    return base_url() + url_for(endpoint, **values)


def base_url() -> str:
    """Return the site's public URL; without one, the request's URL if its host name is trusted."""
    settings = current_site().settings
    if settings.base_url:
        return settings.base_url
    if _host() in _own_names() or _is_among(_host(), current_site().trusted_names or ()):
        return request.url_root.rstrip("/")
    return settings.site()


def passkey_origin() -> str | None:
    """Return the site's origin if the browser is there and supports passkeys there, otherwise None.

    Passkeys need a host name, and HTTPS except on localhost.
    """
    site = origin(base_url())
    host = urlsplit(site).hostname or ""
    is_secure = site.startswith("https://") or host == "localhost" or host.endswith(".localhost")
    is_here = site == f"{request.scheme}://{request.host}".lower()
    return site if is_secure and is_here and not _is_address(host) else None


def _host() -> str:
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
