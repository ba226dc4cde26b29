"""Run the demo: serve the demo competition until Ctrl-C, or check it and stop."""

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

from grader.demo.check import check, show
from grader.demo.competition import ACCOUNTS, ORGANIZER, SLUG, Demo, DemoFailed, Say, set_up, write_files
from grader.demo.progress import Progress
from grader.demo.service import Installation, ServiceFailed, last_lines, serving
from grader.errors import OrganizerError
from grader.settings import PREFIX, Settings


def serve(settings: Settings, say: Say) -> None:
    """Fill the installation of these settings with the demo competition and serve it until interrupted."""
    host = "127.0.0.1" if settings.host in ("0.0.0.0", "::") else settings.host  # noqa: S104
    installation = Installation(host, settings.port, dict(os.environ))
    demo = Demo(installation, settings.data_dir.absolute() / "demo", say)
    with contextlib.suppress(KeyboardInterrupt), _running(demo) as server:
        progress = set_up(demo)
        show(demo, demo.installation.api(progress.tokens[ORGANIZER]), "public")
        _tell_how_to_go_on(demo, settings, progress)
        code = server.wait()
        raise ServiceFailed(f"`fairboard serve` ended with {code}.")


def run_check(say: Say) -> list[str]:
    """Run the demo in a separate folder and on a separate port; return every difference as a sentence."""
    with tempfile.TemporaryDirectory(prefix="fairboard-demo-") as folder:
        port = _free_port()
        # The settings of this machine's own installation must not reach the check.
        environment = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
        environment |= {"FAIRBOARD_DATA_DIR": folder, "FAIRBOARD_PORT": str(port)}
        demo = Demo(Installation("127.0.0.1", port, environment), Path(folder) / "demo", say)
        with _running(demo):
            wrong = check(demo, set_up(demo))
    if not wrong:
        say("All leaderboards agree with the independent computation, before and after the rescoring.")
    return wrong


@contextlib.contextmanager
def _running(demo: Demo) -> Iterator[subprocess.Popen[bytes]]:
    _end_in_order_when_told_to()
    write_files(demo)
    demo.say(f"Starting the service on {demo.installation.address}")
    with serving(demo.installation, _log(demo)) as server:
        try:
            yield server
        except OrganizerError as error:
            raise DemoFailed(f"{error.message}\n{last_lines(_log(demo))}") from error
        finally:
            demo.say("Stopping the service.")


def _log(demo: Demo) -> Path:
    return demo.folder / "serve.log"


def _end_in_order_when_told_to() -> None:
    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _tell_how_to_go_on(demo: Demo, settings: Settings, progress: Progress) -> None:
    address = settings.base_url or demo.installation.address
    demo.say(f"\nThe demo runs: {address}/competitions/{SLUG}\n\nLogins ({ORGANIZER} is the administrator):")
    for name in ACCOUNTS:
        demo.say(f"  {name:12} {progress.passwords.get(name, '(password unknown: made by an earlier demo)')}")
    fairboard = Path(sys.executable).with_name("fairboard")
    demo.say(f"""
Train and test files, and what each team sent: {demo.folder}
In another shell:
  export {PREFIX}DATA_DIR={settings.data_dir.absolute()}
  {fairboard} competition reveal {SLUG}
  {fairboard} rescore {SLUG} {demo.corrected_solution} --reason "Labels were rated again."
The service runs until Ctrl-C; `make demo` again goes on with the same data.""")
