"""Access to the local installation: database, schema check, readable errors."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import click
from sqlalchemy import make_url
from sqlalchemy.exc import DatabaseError, SQLAlchemyError

from grader import db
from grader.cli.configuration import installed_settings, make_data_folder
from grader.db import Database
from grader.maintenance import schema
from grader.services.competitions import acting
from grader.services.identity import administrators, api_tokens, names
from grader.services.identity.api_tokens import Scope
from grader.services.site import log
from grader.services.site.log import Actor
from grader.settings import PREFIX, Settings
from grader.storage import disk
from grader.storage.stores import Storage, StorageUnavailable, open_storage
from grader.supervisor import lock

TOKEN_LIFETIME = timedelta(hours=1)


@dataclass(frozen=True)
class Installation:
    """An open installation."""

    settings: Settings
    database: Database
    storage: Storage

    def link(self, path: str) -> str:
        """Return the URL of a page of the site."""
        return (self.settings.base_url or self.address()).rstrip("/") + path

    def address(self) -> str:
        """Return the address at which this machine reaches the site, without proxies."""
        return lock.address(self.settings.data_dir) or self.settings.own_address()


@contextmanager
def opened(*, with_newer_tables: bool = False) -> Iterator[Installation]:
    """Open the installation that the settings name; raise ClickException if there is none.

    During a rolling upgrade, the tables may be newer than this version.
    """
    settings = installed_settings()
    require_database(settings)
    with opened_database(settings) as database:
        current = schema.current(database)
        if current is None:
            raise _no_site(settings)
        if current != schema.head() and not (with_newer_tables and schema.is_usable(database)):
            raise click.ClickException(schema.difference(current))
        yield Installation(settings, database, open_storage(settings.storage()))


def require_database(settings: Settings) -> None:
    """Raise ClickException if the file of a SQLite database does not exist, which opening it would create."""
    url = make_url(settings.database())
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").exists():
        raise _no_site(settings)


def _no_site(settings: Settings) -> click.ClickException:
    where = "The database" if settings.database_url else f"The data folder {settings.data_dir.absolute()}"
    return click.ClickException(
        f"{where} contains no site. Set {PREFIX}DATA_DIR and the other settings of the installation, or "
        "create a site first with `fairboard serve` or `fairboard migrate`."
    )


@contextmanager
def acting_as(user: str | None) -> Iterator[tuple[str, str]]:
    """Yield the address of this machine's site and a token of `user`, which ends with the block.

    The audit log records each token, because anyone who can read the database can act as any user.
    """
    with opened() as installation:
        with installation.database.write() as session:
            now = db.now(session)
            account = administrators.first(session) if user is None else names.get_user(session, name=user)
            token, text = api_tokens.create(
                session,
                user=account,
                name="fairboard command",
                scopes=tuple(Scope),
                lifetime=TOKEN_LIFETIME,
                now=now,
            )
            act = acting.of_site(session, Actor.shell(), now)
            act.record("account.act_as", f"person {log.mention(account)}")
        try:
            yield installation.address(), text
        finally:
            with installation.database.write() as session:
                api_tokens.forget(session, token_id=token.id)


@contextmanager
def opened_database(settings: Settings) -> Iterator[Database]:
    """Open the database without checking its schema."""
    make_data_folder(settings)
    database = Database(settings.database(), pool_size=2)
    try:
        with failures_in_a_sentence():
            yield database
    finally:
        database.dispose()


@contextmanager
def failures_in_a_sentence() -> Iterator[None]:
    """Convert database, storage and disk-full errors to ClickException."""
    try:
        yield
    except StorageUnavailable as error:
        raise click.ClickException(f"The storage cannot be used: {error}") from error
    except (OSError, SQLAlchemyError) as error:
        if disk.is_full(error):
            raise click.ClickException(disk.FULL) from error
        if not isinstance(error, DatabaseError):
            raise
        reason = " ".join(str(error.orig).split())
        raise click.ClickException(
            f"The database cannot be used: {reason}. Check that it is running, and check its URL "
            f"({PREFIX}DATABASE_URL) and the disk and permissions of its files. If it is damaged, move it "
            "elsewhere and restore a backup with `fairboard restore`."
        ) from error
