"""Identity providers for single sign-on: TOML settings and user claims."""

import enum
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from grader.hosts import ascii_name

SLUG = r"^[a-z][a-z0-9-]{0,30}[a-z0-9]$"
GOOGLE = "https://accounts.google.com"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class SignUp(enum.StrEnum):
    """Policies for creating accounts."""

    OPEN = "open"
    INVITE = "invite"
    CLOSED = "closed"


def _secure(address: str) -> str:
    parts = urlsplit(address)
    is_secure = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    if not (is_secure and parts.hostname) or parts.query or parts.fragment or parts.username:
        raise ValueError("must be an https:// URL without query, fragment or user name")
    return address


Line = Annotated[str, Field(min_length=1, max_length=200)]
Domain = Annotated[str, AfterValidator(ascii_name)]


class Provider(BaseModel):
    """The settings of a provider; the name of its TOML table is its `slug`.

    `issuer` must equal the issuer in the provider's ID tokens exactly. Without `accounts`, the site's sign-up
    policy applies. With `trusts_email`, addresses count as verified even if the provider does not state it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)

    slug: str = ""
    label: Line
    issuer: Annotated[str, Field(max_length=255), AfterValidator(_secure)]
    client_id: Line
    client_secret: SecretStr | None = None
    scopes: list[Line] = ["openid", "profile", "email"]
    allowed_domains: list[Domain] = []
    trusts_email: bool = False
    accounts: Annotated[SignUp | None, Field(strict=False)] = None
    admin_claim: Line | None = None
    admin_value: Line | None = None
    session_hours: Annotated[int, Field(ge=1, le=87_600)] | None = None

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if (self.admin_claim is None) != (self.admin_value is None):
            raise ValueError("admin_claim and admin_value must be set together")
        if "openid" not in self.scopes:
            raise ValueError("scopes must contain openid")
        return self

    def makes_admin(self, claims: Mapping[str, Any]) -> bool | None:
        """Return whether the claims grant the administrator role; None if they do not decide it."""
        if self.admin_claim is None:
            return None
        return self.admin_value in _values_of(claims, self.admin_claim)

    def verified_email(self, claims: Mapping[str, Any]) -> str | None:
        """Return the address in the claims if it is verified."""
        address = claims.get("email")
        is_verified = claims.get("email_verified", self.trusts_email) in (True, "true")
        return address if isinstance(address, str) and is_verified else None

    def admits(self, claims: Mapping[str, Any]) -> bool:
        """Return whether the person belongs to an allowed domain.

        Google verifies addresses of any domain for personal accounts, so its `hd` claim decides.
        """
        if not self.allowed_domains:
            return True
        address = f"@{claims.get('hd', '')}" if self.issuer == GOOGLE else self.verified_email(claims) or ""
        _, at, domain = address.strip().rpartition("@")
        with suppress(ValueError):
            return bool(at) and ascii_name(domain) in self.allowed_domains
        return False


def _values_of(claims: Mapping[str, Any], name: str) -> list[Any]:
    """Return the values of a claim; dots in the name lead into nested objects."""
    value: Any = claims
    for part in [name] if name in claims else name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value if isinstance(value, list) else [value]


def read(text: str) -> tuple[Provider, ...]:
    """Return the providers in a TOML text, one table each; raise ValueError with all problems."""
    try:
        tables = PROVIDERS.validate_python(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"is not valid TOML: {error}") from None
    except ValidationError as error:
        problems = (
            f"{'.'.join(map(str, each['loc']))}: {each['msg'].removeprefix('Value error, ')}"
            for each in error.errors(include_url=False, include_input=False)
        )
        raise ValueError("; ".join(problems)) from None
    issuers = [each.issuer for each in tables.values()]
    if twice := [each for each in set(issuers) if issuers.count(each) > 1]:
        raise ValueError(f"the issuer {' and '.join(twice)} is listed twice")
    return tuple(each.model_copy(update={"slug": slug}) for slug, each in tables.items())


PROVIDERS = TypeAdapter(dict[Annotated[str, Field(pattern=SLUG)], Provider])
