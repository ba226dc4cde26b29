"""Installation settings (FAIRBOARD_* variables): names, defaults, help, secrets, derived times and leases.

`FAIRBOARD_X_FILE=/path` reads the value of X from a file, for secrets that should not appear in the
environment.
"""

import difflib
import enum
import math
import os
import re
import secrets
from contextlib import suppress
from datetime import timedelta
from email.errors import MessageError
from email.headerregistry import Address
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from grader import identity_providers
from grader.hosts import ascii_host, origin
from grader.identity_providers import Provider, SignUp
from grader.text import require_local

PREFIX = "FAIRBOARD_"
_FILE = "_FILE"
# Names with these prefixes are not settings: ports in docker-compose.yml, and variables of the tests.
_NO_SETTINGS = ("publish", "crash_at", "test_", "campaign_")
# A client that mistakes the site for its HTTP proxy sends this name.
LOCAL_NAMES = frozenset({"localhost"})
EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104 - this is a comparison, not a listener
MAX_PORT = 65535
UNSCHEDULED_BACKUPS = timedelta(days=7)
SENDER = re.compile(r"([^<>\r\n]*)<([!-;=?-~]+@[!-;=?-~]+)>|([!-;=?-~]+@[!-;=?-~]+)")

_SERVER = r"([^@]*@)?(\[[^/?]+\]|[^/:?]*)(:\d+)?([/?]|$)"
_BUCKET = r"s3://[\w.-]+(/|$)"
# Patterns and examples of the URLs of services.
URLS = {
    "database_url": (
        rf"postgresql(\+psycopg)?://{_SERVER}|sqlite:///.",
        "postgresql://user:password@host/name or sqlite:////path",
    ),
    "broker_url": (
        rf"rediss?://{_SERVER}|redis\+socket:///.",
        "redis://host:6379/0, rediss://… or redis+socket:///path",
    ),
    "storage_url": (rf"{_BUCKET}|file:///.", "s3://bucket/prefix or file:///folder"),
}


class RequiredFactor(enum.StrEnum):
    """The accounts that must set up a second factor."""

    NONE = "none"
    ADMINISTRATORS = "administrators"
    ORGANIZERS = "organizers"


class HostMetrics(enum.StrEnum):
    """The users who may upload metrics written in Python."""

    ADMINISTRATORS = "administrators"
    ORGANIZERS = "organizers"
    OFF = "off"


def validated_target(target: str) -> str:
    """Return the address of a bucket or the absolute path of a folder; raise ValueError for anything else."""
    is_bucket = target.startswith("s3://")
    if not target or (is_bucket and not re.match(_BUCKET, target)):
        raise ValueError("expected a folder or s3://bucket/prefix")
    if is_bucket:
        return target.rstrip("/")
    require_local(target)
    return str(Path(target).absolute())


def _local(folder: Path) -> Path:
    require_local(str(folder))
    return folder


def _page(url: str) -> str:
    if url and urlsplit(url).scheme not in ("http", "https"):
        raise ValueError("expected a URL that starts with https://")
    return url


LocalFolder = Annotated[Path, AfterValidator(_local)]
PageUrl = Annotated[str, AfterValidator(_page)]


class Settings(BaseSettings):
    """The settings, with defaults for an installation on one machine."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="ignore", env_ignore_empty=True, hide_input_in_errors=True
    )

    data_dir: LocalFolder = Field(
        Path("var"), description="Folder with the database, the files and the secret key."
    )
    database_url: SecretStr | None = Field(
        None, description="SQLAlchemy URL of the database; by default, SQLite in the data folder."
    )
    broker_url: SecretStr | None = Field(
        None, description="Redis or Valkey URL of the queue; by default, `serve` starts its own Valkey."
    )
    storage_url: str | None = Field(
        None,
        description="Blob storage, s3://bucket/prefix or file:///folder; by default, blobs/ in the data "
        "folder.",
    )
    backup_target: Annotated[str, AfterValidator(validated_target)] | None = Field(
        None,
        description="Folder or s3://bucket/prefix for scheduled backups; by default, none are made.",
    )
    backup_interval_hours: float = Field(
        24, gt=0, le=24 * 365, description="Interval between two scheduled backups, in hours."
    )
    backup_keep_days: float = Field(
        30, gt=0, le=36_500, description="Age in days at which backups are deleted; the last one is kept."
    )
    cache_dir: LocalFolder | None = Field(
        None,
        description="Cache folder, which needs no backup; by default, cache/ in the data folder.",
    )
    rank_cache_mb: int = Field(
        20_000,
        ge=0,
        description="Maximum size of the cached ranks of submissions, in MB; 0 disables the cache.",
    )
    disk_reserve_mb: int = Field(
        500,
        ge=0,
        description=("Free disk space to keep, in MB. Uploads that would leave less are rejected."),
    )
    secret_key: SecretStr | None = Field(
        None,
        description="Secret for signing cookies and splitting rows; by default, generated once in the data "
        "folder.",
    )
    host: str = Field("127.0.0.1", description="Address that `serve` listens on.")
    port: int = Field(7777, ge=0, le=MAX_PORT, description="Port that `serve` listens on.")
    base_url: Annotated[str, AfterValidator(origin)] | None = Field(
        None,
        description="Public address of the site without a path, used in links; by default, the address of "
        "`serve`.",
    )
    trusted_hosts: str = Field(
        "",
        description="Additional host names, separated by commas; .example.org includes all "
        "subdomains. Without this and a base URL, every name is accepted.",
    )
    trusted_proxies: int = Field(
        0, ge=0, description="Number of reverse proxies whose X-Forwarded-* headers are trusted."
    )
    web_workers: int = Field(2, ge=1, description="Number of web processes.")
    web_threads: int = Field(
        16, ge=1, description="Number of threads and database connections per web process."
    )
    scoring_processes: int = Field(2, ge=1, description="Number of scoring processes per worker.")
    scoring_time_limit_seconds: int = Field(
        30, ge=1, le=86_400, description="Hard time limit for scoring one submission, in seconds."
    )
    scoring_memory_mb: int = Field(
        4096, ge=256, description="Maximum address space of a scoring process, in MB."
    )
    host_metrics: HostMetrics = Field(
        HostMetrics.ADMINISTRATORS,
        description="Who may upload metrics written in Python: administrators, organizers or off. Uploaded "
        "metrics stay in use.",
    )
    sweep_after_seconds: float = Field(
        10, ge=0, le=86_400, description="Waiting time after which the sweeper handles a job, in seconds."
    )
    login_days: int = Field(14, ge=1, le=3_650, description="Lifetime of a session, in days.")
    require_second_factor: RequiredFactor = Field(
        RequiredFactor.NONE,
        description="Accounts that must set up a second factor: none, administrators, or organizers "
        "(including administrators).",
    )
    sign_up: SignUp = Field(
        SignUp.OPEN,
        description="Who may create an account: open, invite (with an administrator's link) or closed. "
        "Competition owners can always create accounts for a class.",
    )
    oidc_providers: SecretStr | None = Field(
        None,
        description="OpenID Connect providers for single sign-on, as TOML with one table per provider.",
    )
    password_login: bool = Field(
        True,
        description="Whether users can log in with a password. Turning it off requires a provider and "
        "a rescue administrator.",
    )
    rescue_administrator: str = Field(
        "",
        description="Administrator who can always log in with a password and whose role no provider "
        "can revoke.",
    )
    admin_name: str | None = Field(
        None,
        description="Name of the administrator that `serve` and `fairboard migrate` create on a new "
        "site. Requires the password.",
    )
    admin_password: SecretStr | None = Field(
        None, description="Initial password of the first administrator; later changes have no effect."
    )
    contact: str = Field(
        "",
        description=("Contact for people who need an account or a new password."),
    )
    imprint_url: PageUrl = Field("", description="Address of the imprint, linked in the footer.")
    privacy_url: PageUrl = Field("", description="Address of the privacy policy, linked in the footer.")
    smtp_host: str | None = Field(
        None, description="Mail server; without one, no e-mail is sent. Requires a base URL and a sender."
    )
    smtp_port: int = Field(587, ge=1, le=MAX_PORT, description="Port of the mail server.")
    smtp_security: Literal["starttls", "ssl", "none"] = Field(
        "starttls",
        description="Encryption of the connection to the mail server: starttls, ssl or none.",
    )
    smtp_user: str | None = Field(None, description="User name for the mail server, if it requires one.")
    smtp_password: SecretStr | None = Field(None, description="Password for the mail server.")
    smtp_sender: str | None = Field(
        None, description="Sender address of e-mails, such as Fairboard <board@example.org>."
    )
    password_hash_memory_kib: int = Field(
        65536, ge=8, description="Argon2id memory per password hash, in KiB."
    )
    rate_limits: bool = Field(True, description="Whether the request rate per client address is limited.")
    metrics_token: SecretStr | None = Field(
        None,
        min_length=16,
        description="Bearer token for metrics. If it is set, the site serves them at /metrics.",
    )

    log_format: Literal["console", "json"] = Field(
        "console", description="Format of log lines: console or json."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info",
        description="Lowest level of logged events: debug, info, warning or error.",
    )

    @field_validator("database_url", "broker_url", "storage_url")
    @classmethod
    def _is_known(cls, url: Any, info: ValidationInfo) -> Any:
        pattern, examples = URLS[info.field_name or ""]
        text = url.get_secret_value() if isinstance(url, SecretStr) else url
        if text and not re.match(pattern, text):
            raise ValueError(f"expected {examples}")
        return url

    @field_validator("trusted_hosts", "smtp_host")
    @classmethod
    def _are_hosts(cls, text: str | None) -> str | None:
        # A leading dot includes all subdomains.
        return text and ",".join(
            "." * name.startswith(".") + ascii_host(name.strip(".[]")).strip("[]") for name in _listed(text)
        )

    @field_validator("oidc_providers")
    @classmethod
    def _are_providers(cls, text: SecretStr | None) -> SecretStr | None:
        identity_providers.read(text.get_secret_value() if text else "")
        return text

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if not self.password_login and not (self.providers() and self.rescue_administrator):
            raise ValueError(f"{PREFIX}PASSWORD_LOGIN=false requires a provider and a rescue administrator")
        if (self.admin_name is None) != (self.admin_password is None):
            raise ValueError(f"{PREFIX}ADMIN_NAME and {PREFIX}ADMIN_PASSWORD must be set together")
        if self.smtp_host is not None:
            if self.base_url is None:
                raise ValueError(f"{PREFIX}SMTP_HOST requires {PREFIX}BASE_URL for the links in e-mails")
            if (self.smtp_user is None) != (self.smtp_password is None):
                raise ValueError(f"{PREFIX}SMTP_USER and {PREFIX}SMTP_PASSWORD must be set together")
            self.sender()
        return self

    def database(self) -> str:
        """Return the URL of the database."""
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
        """Return the secret key; generate it in the data folder on first use."""
        if self.secret_key is not None:
            return self.secret_key.get_secret_value()
        return _kept_secret(self.data_dir / "secret_key")

    def sweep_interval_seconds(self) -> float:
        """Return the sweeper's interval between checks for overdue jobs and dates."""
        return min(5.0, max(0.2, self.sweep_after_seconds / 2))

    def scoring_lease(self) -> timedelta:
        """Return the lease of a claimed job, which is longer than its time limit."""
        return timedelta(seconds=math.ceil(self.scoring_time_limit_seconds * 4 / 3))

    def backup_interval(self) -> timedelta:
        """Return the interval between backups; if they are not scheduled, the longest that is advisable."""
        return timedelta(hours=self.backup_interval_hours) if self.backup_target else UNSCHEDULED_BACKUPS

    def redis_url(self) -> str | None:
        """Return the URL of the broker for a Redis client, or None if there is no broker."""
        if self.broker_url is None:
            return None
        return self.broker_url.get_secret_value().replace("redis+socket://", "unix://", 1)

    def metrics_dir(self) -> Path | None:
        """Return the folder in which processes record metrics, or None if metrics are not served."""
        return self.data_dir.absolute() / "metrics" if self.metrics_token else None

    def sends_mail(self) -> bool:
        """Return whether e-mail can be sent."""
        return self.smtp_host is not None

    def sender(self) -> Address:
        """Return the sender address of e-mails; raise ValueError if there is none."""
        match = SENDER.fullmatch(self.smtp_sender or "")
        with suppress(MessageError, ValueError):
            if match is not None:
                name, address, bare = match.groups()
                return Address(display_name=(name or "").strip(' "'), addr_spec=address or bare)
        raise ValueError(f"{PREFIX}SMTP_SENDER must be an address such as Board <board@example.org>")

    def site(self) -> str:
        """Return the public address of the site, without a trailing slash."""
        return self.base_url or self.own_address()

    def own_address(self) -> str:
        """Return the address at which this machine reaches the site."""
        host = "localhost" if self.host in EVERYWHERE else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    def trusted_names(self) -> frozenset[str] | None:
        """Return the accepted host names (`.example.org` includes all subdomains); None accepts any name."""
        names = set(_listed(self.trusted_hosts))
        if not names and not self.base_url:
            return None
        public = urlsplit(self.base_url or "").hostname
        listening = set() if self.host in EVERYWHERE else {self.host}
        return frozenset(names | LOCAL_NAMES | listening | ({public} if public else set()))

    def providers(self) -> tuple[Provider, ...]:
        """Return the OpenID Connect providers."""
        return identity_providers.read(self.oidc_providers.get_secret_value() if self.oidc_providers else "")

    def environment(self) -> dict[str, str]:
        """Return the environment variables that pass these settings to another process."""
        return {
            PREFIX + name.upper(): value.get_secret_value() if isinstance(value, SecretStr) else str(value)
            for name, value in self
            if value is not None
        }


def _listed(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _kept_secret(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists():
        with NamedTemporaryFile("w", dir=path.parent) as draft:
            draft.write(secrets.token_urlsafe(48))
            draft.flush()
            os.fsync(draft.fileno())
            with suppress(FileExistsError):  # another process was first, so its key is used
                os.link(draft.name, path)
    return path.read_text()


class UnusableVariables(ValueError):
    """FAIRBOARD_* variables are probably mistyped settings, or name files that cannot be read."""


def load(**overrides: Any) -> Settings:
    """Return the settings from the environment and the files that FAIRBOARD_X_FILE names.

    `overrides` take precedence, and X takes precedence over X_FILE. Raises UnusableVariables if a name is
    mistyped: if the setting for the database or the key were ignored, a second, empty installation would
    start and accept files. Variables that do not resemble any setting have other purposes: Kubernetes sets
    FAIRBOARD_SERVICE_HOST for a service named fairboard, and a client may use FAIRBOARD_TOKEN.
    """
    from_files, problems = dict[str, Any](), []
    for name, value in os.environ.items():
        if not name.upper().startswith(PREFIX):
            continue
        suffix = _FILE if name.upper().endswith(_FILE) else ""
        setting = name.upper().removeprefix(PREFIX).removesuffix(suffix).lower()
        if setting in Settings.model_fields:
            if suffix and value and not os.environ.get(PREFIX + setting.upper()):
                try:
                    from_files[setting] = _content(value)
                except (OSError, ValueError) as error:
                    reason = error.strerror if isinstance(error, OSError) else error
                    problems.append(f"The file {value}, specified by {name}, cannot be read: {reason}.")
        elif not setting.startswith(_NO_SETTINGS) and (
            nearest := difflib.get_close_matches(setting, Settings.model_fields, n=1)
        ):
            problems.append(f"{name} is not a setting. Did you mean {PREFIX}{nearest[0].upper()}{suffix}?")
    if problems:
        raise UnusableVariables("\n".join(problems))
    return Settings(**from_files | overrides)


def _content(path: str) -> str:
    if not (text := Path(path).read_text().strip()):
        raise ValueError("it is empty")
    return text
