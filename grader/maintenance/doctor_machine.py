"""Doctor's checks of the machine: settings, file permissions, disk space."""

import os
import pwd
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from grader.maintenance.backups import AUTOMATIC_FOLDER
from grader.maintenance.doctor_stored import Finding, alarm, megabytes, ok, warning
from grader.settings import PREFIX, Settings
from grader.storage import disk

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
SHORTEST_SECRET = 32
SHOWN = 3


def of_settings(settings: Settings) -> Iterator[Finding]:
    """Look at settings that work and are not what one wants."""
    if settings.host not in LOOPBACK and not (settings.base_url or "").startswith("https://"):
        yield warning(
            "settings",
            "The site can be reached without TLS. Put a proxy with TLS before it, and set "
            f"{PREFIX}BASE_URL to its https address and {PREFIX}TRUSTED_PROXIES to 1.",
        )
    key = settings.secret_key.get_secret_value() if settings.secret_key else None
    if key is not None and len(key) < SHORTEST_SECRET:
        yield warning(
            "settings",
            f"The secret key has {len(key)} characters. Anyone who guesses it can act as any user and knows "
            "which rows are private. Use a longer one (openssl rand -hex 32).",
        )
    if not settings.sends_mail():
        yield ok("settings", "No e-mail is sent: there is no mail server in the settings.")


def of_rights(settings: Settings) -> Iterator[Finding]:
    """Look whether the data folder is private, and whether all in it belongs to one user, who asks."""
    folder = settings.data_dir
    for path in (folder, folder / "secret_key"):
        if path.exists() and path.stat().st_mode & 0o077:
            yield warning("rights", f"Other users of this machine can read {path}: chmod go= {path}.")
    owner, user = _name_of(folder.stat().st_uid), _name_of(os.geteuid())
    if user != owner:
        yield warning(
            "rights",
            f"You are {user} and {folder} belongs to {owner}: one of you may be unable to read the other's "
            f"files. Run every command as {owner}: sudo -u {owner} fairboard ….",
        )
    if others := list(islice(_belonging_to_others(folder), SHOWN)):
        yield warning(
            "rights",
            f"Some files in {folder} do not belong to {owner}, such as {', '.join(others)}: "
            f"chown -R {owner} {folder}.",
        )


def _belonging_to_others(folder: Path) -> Iterator[str]:
    owner = folder.stat().st_uid
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # it has just been deleted
            if path.lstat().st_uid != owner:
                yield str(path)


def _name_of(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def of_disks(settings: Settings) -> Iterator[Finding]:
    """Look at the room on each disk of this machine, and say what could be freed where it is short."""
    reserve = settings.disk_reserve_mb * 1_000_000
    is_short = False
    for folder in disk.folders(settings):
        free = disk.free_bytes(folder)
        what = f"{folder} has {megabytes(free)} free; the reserve is {megabytes(reserve)}."
        if free < reserve:
            yield alarm("disk", f"Uploads are refused: {what}")
        elif free < 2 * reserve:
            yield warning("disk", f"Soon uploads will be refused: {what}")
        else:
            yield ok("disk", what)
        is_short = is_short or free < 2 * reserve
    if is_short:
        yield from _what_to_free(settings)


def _what_to_free(settings: Settings) -> Iterator[Finding]:
    found = (
        (
            settings.cache(),
            f"you can delete everything in it; it is computed again. {PREFIX}RANK_CACHE_MB makes it smaller.",
        ),
        (
            settings.data_dir.absolute() / AUTOMATIC_FOLDER,
            "copies of the database from before migrations; delete those that you no longer need.",
        ),
        *(
            (folder / "drafts", "files that were being stored; those older than a day are leftovers.")
            for folder in disk.folders(settings)[1:]
        ),
        (
            settings.data_dir.absolute() / "valkey",
            ("the queue's log; delete it only while the service is stopped."),
        ),
    )
    for size, folder, why in sorted(((_size(folder), folder, why) for folder, why in found), reverse=True):
        if size:
            yield warning("disk", f"To free: {megabytes(size)} in {folder}: {why}")
    yield warning("disk", "To free: blobs that belong to no row: `fairboard orphans --delete`.")


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
