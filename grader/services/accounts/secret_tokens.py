"""Random secrets for tokens and links; the database keeps only their sha256."""

import hashlib
import secrets


def new(prefix: str = "") -> str:
    """Return a token of 256 random bits that fits into an address or a header."""
    return prefix + secrets.token_urlsafe(32)


def sha256(token: str) -> str:
    """Return what is kept of a token."""
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
