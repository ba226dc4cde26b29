"""E-mail addresses: validation and normalization."""

import re

from grader.errors import ErrorKind, ParticipantError
from grader.hosts import ascii_name

MAX_LENGTH = 254

# This is the pattern of HTML's e-mail input. No text that it accepts can end a header or start a second
# address.
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_ADDRESS = re.compile(rf"[A-Za-z0-9.!#$%&'*+/=?^_`{{|}}~-]{{1,64}}@{_LABEL}(?:\.{_LABEL})*", re.ASCII)


class InvalidAddress(ParticipantError):
    """The text is not an e-mail address."""

    public_name = "invalid_address"
    kind = ErrorKind.MISMATCH
    message = "Enter a valid e-mail address, such as ada@example.org."


def clean_address(address: str) -> str:
    """Return an address without surrounding spaces, its domain in ASCII; raise InvalidAddress."""
    local, _, domain = address[: 4 * MAX_LENGTH].strip().rpartition("@")
    try:
        plain = f"{local}@{ascii_name(domain)}"
    except ValueError:
        raise InvalidAddress from None
    if len(plain) > MAX_LENGTH or not _ADDRESS.fullmatch(plain):
        raise InvalidAddress
    return plain


def key(address: str) -> str:
    """Return the canonical form of a clean address, which is unique among verified addresses."""
    return address.lower()
