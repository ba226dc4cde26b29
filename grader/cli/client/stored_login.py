"""The stored login of this user: server and token, in the keyring or in a file that only they can read."""

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

SERVICE = "fairboard"  # the name of its entries in a keyring


@dataclass(frozen=True)
class StoredLogin:
    """A server, and the competitions seen there, which the shell completes; the token is in `token`."""

    server: str
    competitions: tuple[str, ...] = ()
    is_in_keyring: bool = False
    written_token: str | None = None

    @property
    def token(self) -> str | None:
        """The API token, None where the keyring has lost it."""
        if not self.is_in_keyring:
            return self.written_token
        keyring = _keyring()
        return keyring.get_password(SERVICE, self.server) if keyring else None


def path() -> Path:
    """Return where the login is stored."""
    return Path(click.get_app_dir("fairboard")) / "login.json"


def read() -> StoredLogin | None:
    """Return the stored login, None where there is none; refuse a file that others can read."""
    try:
        if os.name == "posix" and path().stat().st_mode & 0o077:
            raise click.ClickException(f"Others can read {path()}: run `chmod 600 {path()}` or log in again.")
        found = json.loads(path().read_text(encoding="utf-8"))
        return StoredLogin(
            server=str(found["server"]),
            competitions=tuple(map(str, found.get("competitions", ()))),
            is_in_keyring="token" not in found,
            written_token=found.get("token"),
        )
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise click.ClickException(f"{path()} is damaged: log in again.") from error
    except OSError as error:
        raise click.ClickException(f"{path()} cannot be read: {error.strerror}.") from error


def write(server: str, token: str, competitions: tuple[str, ...]) -> StoredLogin:
    """Store a login in the place of the earlier one; return it."""
    forget()
    is_in_keyring = _put_into_keyring(server, token)
    login = StoredLogin(server, competitions, is_in_keyring, None if is_in_keyring else token)
    _write(login)
    return login


def note_competitions(login: StoredLogin, slugs: tuple[str, ...]) -> None:
    """Remember the competitions of a server for the shell; a folder that cannot be written is no matter."""
    if slugs != login.competitions:
        with contextlib.suppress(OSError):
            _write(StoredLogin(login.server, slugs, login.is_in_keyring, login.written_token))


def forget() -> bool:
    """Delete the stored login and its token; return whether there was one."""
    server = None
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        server = str(json.loads(path().read_text(encoding="utf-8"))["server"])
    if server and (keyring := _keyring()):
        with contextlib.suppress(Exception):  # of any backend: it has no such entry
            keyring.delete_password(SERVICE, server)
    was_there = path().exists()
    path().unlink(missing_ok=True)
    return was_there


def _write(login: StoredLogin) -> None:
    data: dict[str, Any] = {"server": login.server, "competitions": login.competitions}
    if not login.is_in_keyring:
        data["token"] = login.written_token
    path().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path().with_suffix(f".{os.getpid()}")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump(data, file)
    new.replace(path())


def _put_into_keyring(server: str, token: str) -> bool:
    keyring = _keyring()
    if keyring is None:
        return False
    try:
        keyring.set_password(SERVICE, server, token)
        return bool(keyring.get_password(SERVICE, server) == token)
    except Exception:  # a locked one, or one without a desktop to ask on
        return False


def _keyring() -> Any:
    """Return the keyring of this machine; None where it has none that keeps secrets."""
    try:
        import keyring
        from keyring.core import recommended
    except ModuleNotFoundError:
        return None
    backend = keyring.get_keyring()
    return backend if recommended(backend) else None
