"""Run the demo: serve the demo competition until Ctrl-C, or check it and stop."""

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from grader.demo.check import check
from grader.demo.competition import Demo, DemoFailed, Say, set_up, steps, write_files
from grader.demo.logins import tell_how_to_go_on
from grader.demo.service import Installation, ServiceFailed, last_lines, serving
from grader.errors import OrganizerError
from grader.settings import PREFIX, Settings


def serve(settings: Settings, say: Say) -> None:
    """Fill the installation of these settings with the demo competition and serve it until interrupted."""
    host = "127.0.0.1" if settings.host in ("0.0.0.0", "::") else settings.host  # noqa: S104
    installation = Installation(host, settings.port, dict(os.environ))
    demo = Demo(installation, settings.data_dir.absolute() / "demo", say, steps(say))
    with contextlib.suppress(KeyboardInterrupt), _running(demo) as server:
        progress = set_up(demo)
        tell_how_to_go_on(demo, settings, progress)
        code = server.wait()
        raise ServiceFailed(f"`fairboard serve` ended with {code}.")


def run_check(say: Say) -> list[str]:
    """Run the demo in a separate folder and on a separate port; return every difference as a sentence."""
    with tempfile.TemporaryDirectory(prefix="fairboard-demo-") as folder:
        port = _free_port()
        # The settings of this machine's own installation must not reach the check.
        environment = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
        environment |= {"FAIRBOARD_DATA_DIR": folder, "FAIRBOARD_PORT": str(port)}
        demo = Demo(Installation("127.0.0.1", port, environment), Path(folder) / "demo", say, steps(say))
        with _running(demo):
            wrong = check(demo, set_up(demo))
    if not wrong:
        say("All leaderboards agree with the independent computation, before and after the rescoring.")
    return wrong


@contextlib.contextmanager
def _running(demo: Demo) -> Iterator[subprocess.Popen[bytes]]:
    _end_in_order_when_told_to()
    write_files(demo)
    demo.steps.begin("start", f"starting the service on {demo.installation.address}")
    with serving(demo.installation, _log(demo), waiting=demo.steps.wait) as server:
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
