"""Device cookie: a browser that logged in before has wrong-password attempts of its own.

It names up to `MOST` accounts, each with a number of this device and a mark of the account's password, so
that a new password ends it. Nobody is logged in by it.
"""

import hashlib
import hmac
import secrets
from contextlib import suppress
from datetime import timedelta
from typing import Any

from flask import Response, request
from itsdangerous import BadSignature, URLSafeTimedSerializer

from grader.models import User
from webapp.http.site import Site

COOKIE = "fairboard_device"
KEPT = timedelta(days=180)
MOST = 8

_Entry = tuple[int, str, str]  # whose, the device's number, the mark of the password


def number_of(site: Site, user: User | None, *, cookie_name: str) -> str | None:
    """Return the number of the device that a request comes from, None if the person never logged in on it."""
    entries = _read(site, cookie_name)
    if user is None:
        return None
    mark = _mark(site, user)
    return next(
        (device for whose, device, known in entries if whose == user.id and hmac.compare_digest(known, mark)),
        None,
    )


def remember(site: Site, response: Response, user: User, *, cookie_name: str) -> list[str]:
    """Let the answer to a login carry the cookie that knows this device; an earlier number of it stays.

    Returns the numbers that the device has for all of its accounts.
    """
    number = number_of(site, user, cookie_name=cookie_name) or secrets.token_hex(8)
    others = [entry for entry in _read(site, cookie_name) if entry[0] != user.id]
    entries = [(user.id, number, _mark(site, user)), *others][:MOST]
    response.set_cookie(
        cookie_name,
        str(_serializer(site).dumps(entries)),
        max_age=KEPT,
        secure=site.is_https,
        httponly=True,
        samesite="Lax",
    )
    return [device for _, device, _ in entries]


def _read(site: Site, cookie_name: str) -> list[_Entry]:
    sent: Any = []
    with suppress(BadSignature):
        cookie = request.cookies.get(cookie_name, "")
        sent = _serializer(site).loads(cookie, max_age=int(KEPT.total_seconds()))
    return [tuple(entry) for entry in sent]


def _serializer(site: Site) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(
        site.settings.secret(), salt=COOKIE, signer_kwargs={"digest_method": hashlib.sha256}
    )


def _mark(site: Site, user: User) -> str:
    key, text = site.settings.secret().encode(), f"{COOKIE}: {user.id}: {user.password_hash}"
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()[:32]
