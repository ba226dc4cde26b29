"""Logins of the demo: one to try at once, and a file with all and with what an organizer can do next."""

import sys
from pathlib import Path

from grader.demo.competition import ACCOUNTS, NEWCOMER, ORGANIZER, SLUG, Demo
from grader.demo.progress import Progress
from grader.settings import PREFIX, Settings

NAME = "logins.txt"


def tell_how_to_go_on(demo: Demo, settings: Settings, progress: Progress) -> None:
    """Print a login link for the newcomer and the file with all passwords."""
    address = settings.base_url or demo.installation.address
    passwords = {
        name: progress.passwords.get(name, "(password unknown: made by an earlier demo)") for name in ACCOUNTS
    }
    link = demo.installation.command(
        "user", "login-link", NEWCOMER, "--next", f"/competitions/{SLUG}"
    ).strip()
    others = demo.folder / NAME
    _write(others, _all_logins(demo, settings, address, passwords))
    demo.say(f"""
Ready after {demo.steps.elapsed:.0f} s. Open this link to log in as {NEWCOMER} (it works once):

  {link}

The Data page has train.csv, test.csv and a script that creates a first submission from them.
The passwords of the organizer and of the other teams: {others}
The service runs until Ctrl-C. `make demo` continues with the same data.""")


def _all_logins(demo: Demo, settings: Settings, address: str, passwords: dict[str, str]) -> str:
    lines = "\n".join(f"  {name:12} {password}" for name, password in passwords.items())
    fairboard = Path(sys.executable).with_name("fairboard")
    return f"""Log in at {address}/login.
{ORGANIZER} is the administrator, {NEWCOMER} has sent nothing yet, the others are teams:

{lines}

What each team sent is in {demo.folder / "predictions"}.
What an organizer can do next, in another shell:

  export {PREFIX}DATA_DIR={settings.data_dir.absolute()}
  {fairboard} rescore {SLUG} {demo.corrected_solution} --reason "Labels were rated again."
  {fairboard} competition reveal {SLUG}
"""


def _write(path: Path, text: str) -> None:
    """Write a file that its owner alone can read."""
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
