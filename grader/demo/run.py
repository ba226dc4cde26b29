"""Main program of the demo: serves the competition until Ctrl-C, or checks it and exits."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from grader.demo.check import check
from grader.demo.competition import (
    ACCOUNTS,
    NEWCOMER,
    ORGANIZER,
    Demo,
    DemoFailed,
    DemoProgress,
    Say,
    set_up,
    steps,
    write_files,
)
from grader.demo.service import SLUG, DemoInstallation, ServiceFailed, last_lines, serving
from grader.errors import FairboardError
from grader.settings import PREFIX, Settings

LOGINS = "logins.txt"
QUIET = {"FAIRBOARD_LOG_LEVEL": "warning"}  # an access log would hide the instructions


def serve(settings: Settings, say: Say) -> None:
    """Create the demo competition in the configured installation and serve it until interrupted."""
    host = "127.0.0.1" if settings.host in ("0.0.0.0", "::") else settings.host  # noqa: S104
    installation = DemoInstallation(host, settings.port, QUIET | os.environ)
    demo = Demo(installation, settings.data_dir.absolute() / "demo", say, steps(say))
    with contextlib.suppress(KeyboardInterrupt), _running(demo) as server:
        progress = set_up(demo)
        tell_how_to_go_on(demo, settings, progress)
        code = server.wait()
        raise ServiceFailed(f"`fairboard serve` exited with code {code}.")


def run_check(say: Say) -> list[str]:
    """Run the demo in a temporary folder on a free port; return a message for each difference."""
    with tempfile.TemporaryDirectory(prefix="fairboard-demo-") as folder:
        port = _free_port()
        # The check must not use the settings of this machine's own installation.
        environment = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
        environment |= {**QUIET, "FAIRBOARD_DATA_DIR": folder, "FAIRBOARD_PORT": str(port)}
        demo = Demo(DemoInstallation("127.0.0.1", port, environment), Path(folder) / "demo", say, steps(say))
        with _running(demo):
            wrong = check(demo, set_up(demo))
    if not wrong:
        say("All leaderboards agree with the independent computation, before and after the rescoring.")
    return wrong


def tell_how_to_go_on(demo: Demo, settings: Settings, progress: DemoProgress) -> None:
    """Print a login link for the newcomer and the path of the file with all passwords."""
    address = settings.base_url or demo.installation.address
    passwords = {
        name: progress.passwords.get(name, "(unknown password: created by an earlier demo)")
        for name in ACCOUNTS
    }
    link = demo.installation.command(
        "user", "login-link", NEWCOMER, "--next", f"/competitions/{SLUG}"
    ).strip()
    others = demo.folder / LOGINS
    others.touch(mode=0o600)
    others.write_text(_all_logins(demo, settings, address, passwords), encoding="utf-8")
    demo.say(f"""
Ready after {demo.steps.elapsed:.0f} s. Open this link to log in as {NEWCOMER} (it works once):

  {link}

The Data page has train.csv, test.csv and a script that creates a first submission from them. The passwords of
the organizer and the other teams are in {others}. The service runs until Ctrl-C. `make demo` continues with
the same data.""")


def _all_logins(demo: Demo, settings: Settings, address: str, passwords: dict[str, str]) -> str:
    lines = "\n".join(f"  {name:12} {password}" for name, password in passwords.items())
    fairboard = Path(sys.executable).with_name("fairboard")
    return f"""Log in at {address}/login.
{ORGANIZER} is the administrator, {NEWCOMER} has not submitted anything, and the other accounts are teams:

{lines}

The files that the teams submitted are in {demo.folder / "predictions"}. As the organizer, you can try these
commands in another shell:

  export {PREFIX}DATA_DIR={settings.data_dir.absolute()}
  {fairboard} rescore {SLUG} {demo.corrected_solution} --reason "Labels were corrected."
  {fairboard} competition reveal {SLUG}
"""


@contextlib.contextmanager
def _running(demo: Demo) -> Iterator[subprocess.Popen[bytes]]:
    _interrupt_on_signals()
    write_files(demo)
    demo.steps.begin(f"Starting the service on {demo.installation.address}")
    with serving(demo.installation, _log(demo)) as server:
        try:
            yield server
        except FairboardError as error:
            raise DemoFailed(f"{error.message}\n{last_lines(_log(demo))}") from error
        finally:
            demo.say("Stopping the service.")


def _log(demo: Demo) -> Path:
    return demo.folder / "serve.log"


def _interrupt_on_signals() -> None:
    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
