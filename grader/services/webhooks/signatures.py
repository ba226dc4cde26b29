"""Sign what is sent to a webhook, so that its receiver knows who sent it and when."""

import hashlib
import hmac
import secrets

PREFIX = "whsec_"
VERSION = "v1"


def new_secret() -> str:
    """Return a secret for a webhook."""
    return PREFIX + secrets.token_urlsafe(24)


def sign(body: bytes, *, secret: str, timestamp: int) -> str:
    """Return the signature of a body: `v1=` and the HMAC-SHA256 of the time, a point and the body, in hex."""
    signed = b"%d." % timestamp + body
    return f"{VERSION}={hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()}"
