"""Installation settings (FAIRBOARD_* variables): names, defaults, help, secrets.

`FAIRBOARD_X_FILE=/path` reads the value of X from a file, for secrets that should not stand in an
environment.
"""

import difflib
import enum
import errno
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from email.headerregistry import Address
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from grader.text import is_elsewhere, not_a_path

PREFIX = "FAIRBOARD_"
_FILE = "_FILE"
# What begins so and is no setting: a port of docker-compose.yml, the mark of what `serve` starts, the tests'.
_NO_SETTINGS = ("publish", "served_from", "crash_at", "test_", "campaign_")
LOCAL_NAMES = frozenset({"localhost"})  # as a client says that takes the site for its proxy
EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104 - recognised, not listened on
SENDER = re.compile(r"([^<>\r\n]*)<([!-;=?-~]+@[!-;=?-~]+)>|([!-;=?-~]+@[!-;=?-~]+)")


class SignUp(enum.StrEnum):
    """Who may make an account."""

    OPEN = "open"
    INVITE = "invite"
    CLOSED = "closed"


class SmtpSecurity(enum.StrEnum):
    """How the connection to the mail server is encrypted."""

    STARTTLS = "starttls"
    SSL = "ssl"
    NONE = "none"


class _Variable(NamedTuple):
    """A variable with our prefix: how it is written, which setting it names, and whether by a file."""

    name: str
    setting: str
    is_file: bool


def _variables() -> Iterator[_Variable]:
    for name in sorted(os.environ):
        if name.upper().startswith(PREFIX):
            setting = name.upper().removeprefix(PREFIX)
            yield _Variable(name, setting.removesuffix(_FILE).lower(), setting.endswith(_FILE))


class FileVariables(EnvSettingsSource):
    """Read each setting X from the file that FAIRBOARD_X_FILE names."""

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return {
            f"{PREFIX}{each.setting}".lower(): _content(os.environ[each.name])
            for each in _variables()
            if each.is_file and each.setting in self.settings_cls.model_fields and os.environ[each.name]
        }


def _content(path: str) -> str:
    if not (text := Path(path).read_text().strip()):
        raise OSError(errno.ENODATA, "It is empty", path)
    return text


class Settings(BaseSettings):
    """The settings; each has a default that suits one machine."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore", env_ignore_empty=True)

    data_dir: Path = Field(Path("var"), description="Folder of the database, the files and the secret key.")
    database_url: SecretStr | None = Field(
        None, description="SQLAlchemy URL; by default SQLite in the data folder."
    )
    broker_url: SecretStr | None = Field(
        None, description="Redis or Valkey URL; by default `serve` starts its own Valkey."
    )
    storage_url: str | None = Field(
        None,
        description="s3://bucket/prefix or file:///folder; by default blobs/ in the data folder.",
    )
    cache_dir: Path | None = Field(
        None,
        description="Cache folder: its files can be computed again and need no backup; by default cache/ "
        "in the data folder.",
    )
    rank_cache_mb: int = Field(
        20_000, ge=0, description="Room for the cached ranks of submissions, in MB; 0 caches none."
    )
    disk_reserve_mb: int = Field(
        500,
        ge=0,
        description=(
            "Uploads are refused if less than this would be left on a disk, in MB; leaderboards stay "
            "readable."
        ),
    )
    rejected_files_mb: int = Field(
        200,
        ge=0,
        description="Bytes of a team's rejected files that are kept from one hour, in MB; 0 keeps none. "
        "All are deleted after a day.",
    )
    secret_key: SecretStr | None = Field(
        None,
        description="Signs cookies and keys the splits; by default created once in the data folder.",
    )
    host: str = Field("127.0.0.1", description="Address that `serve` listens on.")
    port: int = Field(7777, ge=0, le=65535, description="Port that `serve` listens on.")
    base_url: str | None = Field(
        None, description="Public address of the site, for links; by default that of `serve`."
    )
    trusted_hosts: str = Field(
        "",
        description="Other host names of the site, separated by commas; .example.org means every name "
        "below it. If neither this nor a public address is set, every name is accepted.",
    )
    trusted_proxies: int = Field(
        0, ge=0, description="Number of reverse proxies in front whose X-Forwarded-* headers are trusted."
    )
    web_workers: int = Field(2, ge=1, description="Web processes.")
    web_threads: int = Field(16, ge=1, description="Threads of each web process.")
    scoring_processes: int = Field(2, ge=1, description="Scoring processes of one worker.")
    scoring_time_limit_seconds: int = Field(30, ge=1, description="Hard limit of one scoring.")
    scoring_lease_seconds: int = Field(
        40, ge=2, description="A claimed job is free again after this time; longer than the time limit."
    )
    scoring_memory_mb: int = Field(4096, ge=256, description="Address space of one scoring process, in MB.")
    sweep_interval_seconds: float = Field(
        5, gt=0, description="How often the sweeper looks for waiting jobs."
    )
    sweep_after_seconds: float = Field(
        10, ge=0, description="The sweeper scores jobs that have waited longer than this."
    )
    login_days: int = Field(14, ge=1, le=3_650, description="A login ends after this many days.")
    note_shared_logins: bool = Field(
        True,
        description="Whether hashes of the addresses and browsers of logins are kept for 30 days, so that "
        "organizers see which teams share one.",
    )
    sign_up: SignUp = Field(
        SignUp.OPEN,
        description="Who may create an account: open, invite (with an administrator's link) or closed.",
    )
    contact: str = Field(
        "",
        description=(
            "Whom people can ask for an account or a new password: a name and an address, for example."
        ),
    )
    smtp_host: str | None = Field(
        None, description="Mail server; without one no e-mail is sent. Needs a base URL and a sender."
    )
    smtp_port: int = Field(587, ge=1, le=65535, description="Port of the mail server.")
    smtp_security: SmtpSecurity = Field(
        SmtpSecurity.STARTTLS,
        description="How to connect to the mail server: starttls, ssl or none (unencrypted).",
    )
    smtp_user: str | None = Field(None, description="User name at the mail server, if it needs one.")
    smtp_password: SecretStr | None = Field(None, description="Password of that user.")
    smtp_sender: str | None = Field(
        None, description="Sender address of e-mails, such as Fairboard <board@example.org>."
    )
    webhook_http: bool = Field(
        False, description="Whether webhooks may call http:// addresses beside https:// ones."
    )
    webhook_private_networks: str = Field(
        "",
        description="Networks that webhooks may call although they are not public, separated by commas, such "
        "as 10.1.0.0/16; by default none.",
    )
    password_hash_memory_kib: int = Field(65536, ge=8, description="Argon2id memory per hash.")
    password_hash_rounds: int = Field(3, ge=1, description="Argon2id passes per hash.")
    rate_limits: bool = Field(True, description="Whether requests per address are limited.")

    @field_validator("data_dir", "cache_dir")
    @classmethod
    def _on_this_machine(cls, folder: Path | None) -> Path | None:
        if folder is not None and is_elsewhere(str(folder)):
            raise ValueError(not_a_path(str(folder)).rstrip("."))
        return folder

    @field_validator("webhook_private_networks")
    @classmethod
    def _are_networks(cls, text: str) -> str:
        _networks(text)
        return text

    @model_validator(mode="after")
    def _lease_outlasts_the_limit(self) -> Self:
        if self.scoring_lease_seconds <= self.scoring_time_limit_seconds:
            raise ValueError("scoring_lease_seconds must be longer than scoring_time_limit_seconds")
        return self

    @model_validator(mode="after")
    def _mail_has_a_sender_and_links(self) -> Self:
        if self.smtp_host is None:
            return self
        if self.base_url is None:
            raise ValueError("smtp_host needs base_url, for the links in e-mails")
        if self.smtp_sender is None:
            raise ValueError("smtp_host needs smtp_sender")
        if (self.smtp_user is None) != (self.smtp_password is None):
            raise ValueError("smtp_user and smtp_password go together")
        self.sender()
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, FileVariables(settings_cls)

    def database(self) -> str:
        """Return the database's URL."""
        if self.database_url is not None:
            return self.database_url.get_secret_value()
        return f"sqlite:///{self.data_dir.absolute() / 'fairboard.db'}"

    def storage(self) -> str:
        """Return the URL of the blob storage."""
        return self.storage_url or (self.data_dir.absolute() / "blobs").as_uri()

    def cache(self) -> Path:
        """Return the cache folder."""
        return (self.cache_dir or self.data_dir / "cache").absolute()

    def secret(self) -> str:
        """Return the secret key, making it in the data folder on first use."""
        if self.secret_key is not None:
            return self.secret_key.get_secret_value()
        return _kept_secret(self.data_dir / "secret_key")

    def sends_mail(self) -> bool:
        """Return whether e-mail can be sent."""
        return self.smtp_host is not None

    def sender(self) -> Address:
        """Return the address that e-mail comes from; raise ValueError if there is none."""
        found = SENDER.fullmatch(self.smtp_sender or "")
        if found is None:
            raise ValueError("smtp_sender must be an address such as Fairboard <board@example.org>")
        name, address, bare = found.groups()
        return Address(display_name=(name or "").strip(' "'), addr_spec=address or bare)

    def site(self) -> str:
        """Return the public address of the site, without a slash at its end."""
        host = "localhost" if self.host in EVERYWHERE else self.host
        return (self.base_url or f"http://{f'[{host}]' if ':' in host else host}:{self.port}").rstrip("/")

    def trusted_names(self) -> frozenset[str] | None:
        """Return the names that the site is visited under, `.example.org` for all below; None for any."""
        given = {name.strip().rstrip(".").lower() for name in self.trusted_hosts.split(",")} - {""}
        if not given and not self.base_url:
            return None
        public = urlsplit(self.base_url or "").hostname
        listening = set() if self.host in EVERYWHERE else {self.host}
        return frozenset(given | LOCAL_NAMES | listening | ({public} if public else set()))

    def webhook_networks(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """Return the networks that webhooks may call although they are not public."""
        return _networks(self.webhook_private_networks)

    def environment(self) -> dict[str, str]:
        """Return the variables that give another process these settings."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return {
            PREFIX + name.upper(): value.get_secret_value() if isinstance(value, SecretStr) else str(value)
            for name, value in values.items()
            if value is not None
        }


def _networks(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    return tuple(ip_network(each.strip()) for each in text.split(",") if each.strip())


def _kept_secret(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    if not path.exists():
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(48))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # another process was first: its key holds
        finally:
            draft.unlink()
    return path.read_text()


class UnknownVariables(ValueError):
    """The environment has FAIRBOARD_* variables that are probably mistyped settings."""


def unknown_variables() -> Iterator[str]:
    """Yield a sentence for each FAIRBOARD_* variable that is probably a mistyped setting, with the one meant.

    One that resembles no setting is somebody else's: Kubernetes sets FAIRBOARD_SERVICE_HOST for a service of
    our name, and a client may keep its FAIRBOARD_TOKEN there.
    """
    for each in _variables():
        if each.setting in Settings.model_fields or each.setting.startswith(_NO_SETTINGS):
            continue
        if nearest := difflib.get_close_matches(each.setting, Settings.model_fields, n=1):
            suffix = _FILE if each.is_file else ""
            yield f"{each.name} is no setting. Did you mean {PREFIX}{nearest[0].upper()}{suffix}?"


def load(**overrides: Any) -> Settings:
    """Return the settings of this process's environment, with `overrides` before it.

    Raises UnknownVariables for a mistyped name: a database or key that is not read would begin a second,
    empty installation that takes files.
    """
    if unknown := list(unknown_variables()):
        raise UnknownVariables(" ".join(unknown))
    return Settings(**overrides)
