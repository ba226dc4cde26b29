"""Every setting of a Fairboard installation: one frozen, typed table, read from FAIRBOARD_* variables.

`FAIRBOARD_X_FILE=/path` reads the value of X from a file, for secrets that should not stand in an
environment.
"""

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

PREFIX = "FAIRBOARD_"


class FileVariables(EnvSettingsSource):
    """Read each setting X from the file that FAIRBOARD_X_FILE names."""

    def _load_env_vars(self) -> Mapping[str, str | None]:
        suffix = "_file"
        return {
            name.lower().removesuffix(suffix): Path(value).read_text().strip()
            for name, value in os.environ.items()
            if name.startswith(PREFIX) and name.lower().endswith(suffix)
        }


class Settings(BaseSettings):
    """The settings; each has a default that suits one machine."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore")

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
    secret_key: SecretStr | None = Field(
        None,
        description="Signs cookies and keys the splits; by default made once in the data folder.",
    )
    host: str = Field("127.0.0.1", description="Address that `serve` listens on.")
    port: int = Field(7777, ge=0, le=65535, description="Port that `serve` listens on.")
    base_url: str | None = Field(
        None, description="Public address of the site, for links; by default that of `serve`."
    )
    trusted_proxies: int = Field(
        0, ge=0, description="Reverse proxies in front whose X-Forwarded-* headers are believed."
    )
    web_workers: int = Field(2, ge=1, description="Web processes.")
    web_threads: int = Field(16, ge=1, description="Threads of each web process.")
    scoring_processes: int = Field(2, ge=1, description="Scoring processes of one worker.")
    scoring_time_limit_seconds: int = Field(30, ge=1, description="Hard limit of one scoring.")
    scoring_lease_seconds: int = Field(
        40, ge=2, description="A claimed job is free again after this; longer than the time limit."
    )
    scoring_memory_mb: int = Field(4096, ge=256, description="Address space of one scoring process, in MB.")
    sweep_interval_seconds: float = Field(5, gt=0, description="How often the sweeper looks.")
    sweep_after_seconds: float = Field(
        10, ge=0, description="A job that has waited longer than this is the sweeper's."
    )
    login_days: int = Field(14, ge=1, description="A login ends after this many days.")
    sign_up: bool = Field(True, description="Whether anybody may make an account.")
    password_hash_memory_kib: int = Field(65536, ge=8, description="Argon2id memory per hash.")
    password_hash_rounds: int = Field(3, ge=1, description="Argon2id passes per hash.")
    rate_limits: bool = Field(True, description="Whether requests per address are limited.")

    @model_validator(mode="after")
    def _lease_outlasts_the_limit(self) -> Self:
        if self.scoring_lease_seconds <= self.scoring_time_limit_seconds:
            raise ValueError("scoring_lease_seconds must be longer than scoring_time_limit_seconds")
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

    def secret(self) -> str:
        """Return the secret key, making it in the data folder on first use."""
        if self.secret_key is not None:
            return self.secret_key.get_secret_value()
        return _kept_secret(self.data_dir / "secret_key")

    def environment(self) -> dict[str, str]:
        """Return the variables that give another process these settings."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return {
            PREFIX + name.upper(): value.get_secret_value() if isinstance(value, SecretStr) else str(value)
            for name, value in values.items()
            if value is not None
        }


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


def load(**overrides: Any) -> Settings:
    """Return the settings of this process's environment, with `overrides` before it."""
    return Settings(**overrides)
