"""Tables of people: accounts, logins, API tokens, one-time links, rate-limit counters."""

import enum
import secrets
from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, Integer, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.db import Base, stored_enum

if TYPE_CHECKING:
    from grader.models.competitions import Competition


def new_avatar_key() -> str:
    """Return the random key of an avatar."""
    return secrets.token_hex(8)


class User(Base):
    """An account. `name_folded` is for look-ups in any case, `name_key` and `name_shape` for look-alikes.

    `email_key` is the folded address once it is verified. `unwanted_notices` are the kinds of e-mail that the
    person switched off. A deleted account stays as an anonymous row for the standings and the audit log.
    `page_key` is the address of the profile page, None without one. `avatar_key` is random.
    """

    __tablename__ = "user_account"
    __table_args__ = (Index(None, "name_shape", unique=True), Index(None, "page_key", unique=True))

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(256))
    name_folded: Mapped[str] = mapped_column(String(256), unique=True)
    name_key: Mapped[str] = mapped_column(String(256), unique=True)
    name_shape: Mapped[str | None] = mapped_column(String(256))
    password_hash: Mapped[str] = mapped_column(String(255))
    is_admin: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[datetime]
    email: Mapped[str | None] = mapped_column(String(254))
    email_key: Mapped[str | None] = mapped_column(String(254), unique=True)
    email_verified_at: Mapped[datetime | None]
    about: Mapped[str] = mapped_column(Text, default="", server_default="")
    unwanted_notices: Mapped[list[str]] = mapped_column(JSON, default=list, server_default="[]")
    page_key: Mapped[str | None] = mapped_column(String(32))
    avatar_key: Mapped[str | None] = mapped_column(String(16), default=new_avatar_key)
    deleted_at: Mapped[datetime | None]

    logins: Mapped[list["Login"]] = relationship(back_populates="user")
    tokens: Mapped[list["ApiToken"]] = relationship(back_populates="user")


class Login(Base):
    """A login session; the cookie holds the token, the table its sha256."""

    __tablename__ = "login"

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"), index=True)
    token_sha256: Mapped[str] = mapped_column(String(64), unique=True)
    user_agent: Mapped[str] = mapped_column(Text, default="")
    created_at: Mapped[datetime]
    last_used_at: Mapped[datetime]
    expires_at: Mapped[datetime]

    user: Mapped[User] = relationship(back_populates="logins")


class KnownAddress(Base):
    """The keyed hash of an address from which a person has logged in."""

    __tablename__ = "known_address"
    __table_args__ = (UniqueConstraint("user_id", "address_hash"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"))
    address_hash: Mapped[str] = mapped_column(String(64))
    last_login_at: Mapped[datetime] = mapped_column(index=True)


class PlaceKind(enum.StrEnum):
    """From where a person logs in: an address, or a browser."""

    ADDRESS = "address"
    BROWSER = "browser"


class LoginPlace(Base):
    """The keyed hash of an address or a browser from which a person logged in.

    Unlike the hash of a `KnownAddress` it is the same for all people, so organizers see that accounts share a
    place, but not which place.
    """

    __tablename__ = "login_place"
    __table_args__ = (UniqueConstraint("user_id", "place_hash"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"))
    kind: Mapped[PlaceKind] = mapped_column(stored_enum(PlaceKind, name="kind"))
    place_hash: Mapped[str] = mapped_column(String(64), index=True)
    login_count: Mapped[int]
    first_login_at: Mapped[datetime]
    last_login_at: Mapped[datetime] = mapped_column(index=True)


class ApiToken(Base):
    """The sha256 of a bearer token, which is bound to a competition or not.

    `made_with_id` is the token that created it.
    """

    __tablename__ = "api_token"

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"), index=True)
    name: Mapped[str] = mapped_column(String(64))
    prefix: Mapped[str] = mapped_column(String(16))
    token_sha256: Mapped[str] = mapped_column(String(64), unique=True)
    scopes: Mapped[list[str]] = mapped_column(
        JSON, default=lambda: ["read", "submit"], server_default='["read", "submit"]'
    )
    competition_id: Mapped[int | None] = mapped_column(ForeignKey("competition.id"), index=True)
    made_with_id: Mapped[int | None] = mapped_column(ForeignKey("api_token.id"), index=True)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]

    user: Mapped[User] = relationship(back_populates="tokens")
    competition: Mapped["Competition | None"] = relationship()


class RepeatableRequest(Base):
    """A request with an Idempotency-Key; without a status it is in progress or was interrupted."""

    __tablename__ = "repeatable_request"
    __table_args__ = (UniqueConstraint("user_id", "key"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"))
    key: Mapped[str] = mapped_column(String(128))
    fingerprint: Mapped[str] = mapped_column(String(64))
    at: Mapped[datetime] = mapped_column(index=True)
    status: Mapped[int | None]
    answer: Mapped[str | None] = mapped_column(Text)


class SetupLink(Base):
    """A one-time link that creates the first administrator."""

    __tablename__ = "setup_link"

    id: Mapped[int] = mapped_column(primary_key=True)
    token_sha256: Mapped[str] = mapped_column(String(64), unique=True)
    created_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


class LinkPurpose(enum.StrEnum):
    """The purposes of one-time links."""

    VERIFY_EMAIL = "verify_email"
    RESET_PASSWORD = "reset_password"  # noqa: S105
    SIGN_UP = "sign_up"
    LOG_IN = "log_in"


class AccountLink(Base):
    """A one-time link that verifies an address, sets a password, signs up or logs in."""

    __tablename__ = "account_link"

    id: Mapped[int] = mapped_column(primary_key=True)
    purpose: Mapped[LinkPurpose] = mapped_column(stored_enum(LinkPurpose, name="purpose"))
    token_sha256: Mapped[str] = mapped_column(String(64), unique=True)
    user_id: Mapped[int | None] = mapped_column(ForeignKey("user_account.id"), index=True)
    email: Mapped[str | None] = mapped_column(String(254))
    created_by: Mapped[str] = mapped_column(String(256))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]

    user: Mapped[User | None] = relationship()


class Tally(Base):
    """One counted act for a rate limit, kept for a day: its `kind`, and for whom it counts (`whose`)."""

    __tablename__ = "tally"
    __table_args__ = (Index(None, "kind", "whose", "at"),)

    id: Mapped[int] = mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True)
    kind: Mapped[str] = mapped_column(String(32))
    whose: Mapped[str] = mapped_column(String(64))
    at: Mapped[datetime] = mapped_column(index=True)
