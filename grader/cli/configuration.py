"""Settings and data folder for commands, with readable errors; imports no database code."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from pydantic import ValidationError

from grader import logs
from grader.settings import PREFIX, Settings, UnusableVariables, load

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

UNITS_FILE = Path("/etc/fairboard/environment")  # the systemd units read it
UNITS_DEFAULTS = {"FAIRBOARD_DATA_DIR": "/var/lib/fairboard", "FAIRBOARD_CACHE_DIR": "/var/cache/fairboard"}
_ASSIGNMENT = re.compile(
    r"""^[ \t]*(\w+)=[ \t]*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\n]*?))[ \t]*$""", re.MULTILINE | re.DOTALL
)


def make_data_folder(settings: Settings) -> None:
    """Create the data folder if it does not exist; raise ClickException if that fails.

    The umask also protects new files in a folder that was created earlier with public permissions.
    """
    os.umask(0o077)
    try:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise click.ClickException(
            f"The data folder {settings.data_dir} cannot be used: {error.strerror}. "
            f"Set {PREFIX}DATA_DIR to use another folder."
        ) from error


def installed_settings() -> Settings:
    """Return the settings of the installation, and become the owner of its data folder if this is root.

    The settings of the systemd units apply if the environment and the current folder name no installation.
    """
    names = {f"{PREFIX}{name}{suffix}" for name in ("DATA_DIR", "DATABASE_URL") for suffix in ("", "_FILE")}
    if not (names & os.environ.keys() or os.access("var/fairboard.db", os.F_OK)) and UNITS_FILE.exists():
        for assignment in _ASSIGNMENT.finditer(UNITS_FILE.read_text()):
            name, double, single, bare = assignment.groups(default="")
            unescaped = re.sub(r"\\(.)", r"\1", double, flags=re.DOTALL)
            os.environ.setdefault(name, unescaped or single or bare)
        for name, value in UNITS_DEFAULTS.items():
            os.environ.setdefault(name, value)
    settings = load_settings()
    if os.geteuid() == 0 and settings.data_dir.is_dir() and (owner := settings.data_dir.stat()).st_uid:
        os.setgroups([])
        os.setgid(owner.st_gid)
        os.setuid(owner.st_uid)
        os.environ["HOME"] = str(settings.data_dir.resolve())  # drivers of databases read files there
    return settings


def load_settings(**overrides: Any) -> Settings:
    """Return the settings with `overrides`; raise ClickException with all invalid variables."""
    try:
        settings = load(**overrides)
    except (UnusableVariables, ValidationError) as error:
        details = error.errors(include_url=False) if isinstance(error, ValidationError) else ()
        problems = [_sentence(each) for each in details] or [str(error)]
        lines = ["These settings are invalid:", *problems, "docs/operations.md lists all settings."]
        raise click.ClickException("\n".join(lines)) from error
    logs.configure("command", log_format=settings.log_format, level="warning")
    return settings


def _sentence(problem: "ErrorDetails") -> str:
    message = problem["msg"].removeprefix("Value error, ").replace("items after validation", "characters")
    return "".join(f"{PREFIX}{str(name).upper()}: " for name in problem["loc"]) + f"{message}."
