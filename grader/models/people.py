"""Tables for accounts, identities, sessions, second factors, API tokens, links and rate limits."""

import enum
from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.models.base import Base

if TYPE_CHECKING:
    from grader.models.competitions import Competition


class User(Base):
    """An account.

    `name_folded` is for case-insensitive lookup, `name_key` for detecting look-alike names. `email_key` is
    the case-folded address, set once it is verified. `unwanted_notices` lists the kinds of e-mail that the
    user has turned off. The row of a deleted account is anonymized and kept for the standings and the audit
    log. No session or token of a suspended account is valid.
    """

    __tablename__ = "user_account"

    name: Mapped[str] = mapped_column(String(256))
    name_folded: Mapped[str] = mapped_column(String(256), unique=True)
    name_key: Mapped[str] = mapped_column(String(256), unique=True)
    password_hash: Mapped[str] = mapped_column(String(255))
    is_admin: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[datetime]
    email: Mapped[str | None] = mapped_column(String(254))
    email_key: Mapped[str | None] = mapped_column(String(254), unique=True)
    email_verified_at: Mapped[datetime | None]
    unwanted_notices: Mapped[list[str]] = mapped_column(default=list)
    deleted_at: Mapped[datetime | None]
    suspended_at: Mapped[datetime | None]
    suspension_reason: Mapped[str] = mapped_column(default="")

    logins: Mapped[list["Login"]] = relationship(back_populates="user")
    identities: Mapped[list["Identity"]] = relationship(back_populates="user", order_by="Identity.id")
    second_factors: Mapped[list["SecondFactor"]] = relationship(
        back_populates="user", order_by="SecondFactor.id"
    )
    tokens: Mapped[list["ApiToken"]] = relationship(back_populates="user")


class Identity(Base):
    """A person at an identity provider, identified by issuer and subject; `provider` is the provider's slug.

    `user` is None until the person has chosen a name for the new account. `email` is set only if the provider
    has verified the address.
    """

    __tablename__ = "identity"
    __table_args__ = (UniqueConstraint("issuer", "subject"), {"sqlite_autoincrement": True})

    user_id: Mapped[int | None] = mapped_column(ForeignKey("user_account.id"), index=True)
    provider: Mapped[str] = mapped_column(String(32))
    issuer: Mapped[str] = mapped_column(String(255))
    subject: Mapped[str] = mapped_column(String(255))
    email: Mapped[str | None] = mapped_column(String(254))
    linked_at: Mapped[datetime | None]
    last_login_at: Mapped[datetime]

    user: Mapped[User | None] = relationship(back_populates="identities")


class KeptIdentity(Base):
    """The keyed hash of an identity or a verified address that a user has or had.

    Two users with the same hash are the same person. The hashes of a deleted account are kept until the
    competitions that it joined are revealed, and forever if the account was suspended.
    """

    __tablename__ = "kept_identity"
    __table_args__ = (UniqueConstraint("user_id", "identity_hash"),)

    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"))
    identity_hash: Mapped[str] = mapped_column(String(64), index=True)


class Login(Base):
    """A session; the cookie contains the token, and the table only its SHA-256.

    `provider` is the slug of the identity provider through which the session was started, if any.
    """

    __tablename__ = "login"
    __table_args__ = ({"sqlite_autoincrement": True},)

    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"), index=True)
    token_sha256: Mapped[str] = mapped_column(String(64), unique=True)
    user_agent: Mapped[str] = mapped_column(default="")
    provider: Mapped[str | None] = mapped_column(String(32))
    created_at: Mapped[datetime]
    last_used_at: Mapped[datetime]
    expires_at: Mapped[datetime]

    user: Mapped[User] = relationship(back_populates="logins")


class FactorKind(enum.StrEnum):
    """The kinds of second factors."""

    APP = "app"
    PASSKEY = "passkey"


class SecondFactor(Base):
    """An authenticator app or a passkey.

    `key_id` is the id of a passkey, or the random text from which an app's secret is derived. `counter` is
    the last accepted time step of an app, or the signature counter of a passkey. It only increases, so that
    no code is accepted twice and a copied passkey is detected.
    """

    __tablename__ = "second_factor"
    __table_args__ = (UniqueConstraint("user_id", "name"), {"sqlite_autoincrement": True})

    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"))
    kind: Mapped[FactorKind]
    name: Mapped[str] = mapped_column(String(64))
    key_id: Mapped[str] = mapped_column(String(1400), unique=True)
    public_key: Mapped[str | None]
    counter: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[datetime]
    last_used_at: Mapped[datetime | None]

    user: Mapped[User] = relationship(back_populates="second_factors")


class RecoveryCode(Base):
    """An unused recovery code, stored as its SHA-256. Using a code deletes its row."""

    __tablename__ = "recovery_code"
    __table_args__ = (UniqueConstraint("user_id", "code_sha256"),)

    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"))
    code_sha256: Mapped[str] = mapped_column(String(64))


class FactorPurpose(enum.StrEnum):
    """The purposes of a second-factor check."""

    LOG_IN = "log_in"
    CHANGE = "change"


class FactorStep(Base):
    """A login or a change of second factors, started in one browser after the password was verified.

    The browser's signed cookie contains the token, and the table only its SHA-256. `is_confirmed` is true
    once the user may change second factors.
    """

    __tablename__ = "factor_step"

    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"), index=True)
    purpose: Mapped[FactorPurpose]
    token_sha256: Mapped[str] = mapped_column(String(64), unique=True)
    is_confirmed: Mapped[bool]
    expires_at: Mapped[datetime]

    user: Mapped[User] = relationship()


class ApiToken(Base):
    """An API token, stored as its SHA-256 and optionally limited to one competition.

    `made_with_id` is the token that was used to create it.
    """

    __tablename__ = "api_token"
    __table_args__ = ({"sqlite_autoincrement": True},)

    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"), index=True)
    name: Mapped[str] = mapped_column(String(64))
    prefix: Mapped[str] = mapped_column(String(16))
    token_sha256: Mapped[str] = mapped_column(String(64), unique=True)
    scopes: Mapped[list[str]] = mapped_column(default=lambda: ["read", "submit"])
    competition_id: Mapped[int | None] = mapped_column(ForeignKey("competition.id"), index=True)
    made_with_id: Mapped[int | None] = mapped_column(ForeignKey("api_token.id"), index=True)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]

    user: Mapped[User] = relationship(back_populates="tokens")
    competition: Mapped["Competition | None"] = relationship()


class LinkPurpose(enum.StrEnum):
    """The purposes of one-time links."""

    VERIFY_EMAIL = "verify_email"
    RESET_PASSWORD = "reset_password"  # noqa: S105
    SIGN_UP = "sign_up"
    LOG_IN = "log_in"
    SET_UP = "set_up"


class AccountLink(Base):
    """A one-time link that verifies an address, sets a password, signs up, logs in or sets up the site."""

    __tablename__ = "account_link"

    purpose: Mapped[LinkPurpose]
    token_sha256: Mapped[str] = mapped_column(String(64), unique=True)
    user_id: Mapped[int | None] = mapped_column(ForeignKey("user_account.id"), index=True)
    email: Mapped[str | None] = mapped_column(String(254))
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


class Tally(Base):
    """An action that counts toward a rate limit, kept for a day.

    `kind` identifies the limit, and `whose` the user or address to which it applies.
    """

    __tablename__ = "tally"
    __table_args__ = (Index(None, "kind", "whose", "at"),)

    id: Mapped[int] = mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True)
    kind: Mapped[str] = mapped_column(String(32))
    whose: Mapped[str] = mapped_column(String(64))
    at: Mapped[datetime] = mapped_column(index=True)
