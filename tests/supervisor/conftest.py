import contextlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import psutil
import pytest
from click.testing import CliRunner

from grader.cli import main
from grader.supervisor import valkey
from tests.fixtures.patience import HANG_SECONDS, eventually
from tests.fixtures.programs import end_with_run

FAIRBOARD = (sys.executable, "-m", "grader.cli")
QUICK = {
    "FAIRBOARD_PASSWORD_HASH_MEMORY_KIB": "64",
    "FAIRBOARD_SCORING_PROCESSES": "1",
    "FAIRBOARD_WEB_WORKERS": "1",
    "FAIRBOARD_SWEEP_AFTER_SECONDS": "1",
}


class Service:
    """A `fairboard serve` command in its own process."""

    def __init__(self, data_dir: Path, environment: dict, command=(*FAIRBOARD, "serve", "--port", "0")):
        self.data_dir = data_dir
        outside = {name: value for name, value in os.environ.items() if not name.startswith("FAIRBOARD_")}
        data_dir.mkdir(exist_ok=True)
        self.environment = {**outside, **QUICK, **environment, "FAIRBOARD_DATA_DIR": str(data_dir)}
        self._command = command
        self.process = self.address = None

    def start(self):
        self._log = (self.data_dir.parent / "serve.log").open("ab")
        self.process = subprocess.Popen(
            self._command,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            preexec_fn=end_with_run,
        )
        self.announced = list[str]()
        for line in self.process.stdout:
            self.announced.append(line)
            if served := re.search(r"Fairboard serves .* at (http\S+)", line):
                self.address = served[1]
                break
        assert self.address, self.log()
        return self

    def wait_until_ready(self):
        eventually(lambda: self.get("/readyz")[0] == 200, "readiness")
        return self

    def get(self, path, token=None):
        """Return the status and content of a response; 0 if there is none."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            answer = httpx.get(self.address + path, headers=headers, timeout=HANG_SECONDS)
        except httpx.TransportError:
            return 0, {}
        return answer.status_code, answer.json() if answer.status_code == 200 else {}

    def submit(self, slug, token, content):
        answer = httpx.post(
            f"{self.address}/api/v1/competitions/{slug}/submissions",
            files={"file": ("s.csv", content, "text/csv")},
            headers={"Authorization": f"Bearer {token}"},
            timeout=HANG_SECONDS,
        )
        assert answer.status_code == 201, self.log()
        return answer.json()["id"]

    def wait_until_scored(self, submission_id, token):
        def answer():
            _, found = self.get(f"/api/v1/submissions/{submission_id}", token)
            return found if found.get("status") not in (None, "pending") else None

        return eventually(answer, "scoring")

    def command(self, *arguments):
        return subprocess.run(
            [*FAIRBOARD, *map(str, arguments)], env=self.environment, capture_output=True, text=True
        )

    def command_here(self, *arguments):
        """Run a command that is not under test in this process, because this is faster."""
        others = {name: None for name in os.environ if name.startswith("FAIRBOARD_")}
        words = [str(argument) for argument in arguments]
        return CliRunner().invoke(main, words, prog_name="fairboard", env=others | self.environment)

    def create_competition(self, solution: Path, *changes: str):
        """Create an administrator and the published competition `cup` with changed settings."""
        file = solution.with_name("cup.toml")
        file.write_text(f'title = "Cup"\nfiles = {{ solution = "{solution.name}" }}')
        for command in (
            ("user", "create", "olga", "--admin"),
            ("competition", "create", file),
            ("competition", "change", "cup", "contact=olga@example.org", *changes),
            ("competition", "publish", "cup"),
        ):
            done = self.command_here(*command)
            assert done.exit_code == 0, done.output

    def child(self, part_of_command):
        """Return the service's direct child whose command line contains this text, or None."""
        for child in psutil.Process(self.process.pid).children():
            with contextlib.suppress(psutil.Error):
                if part_of_command in " ".join(child.cmdline()) and child.status() != psutil.STATUS_ZOMBIE:
                    return child
        return None

    def family(self):
        """Return all processes of the service except for the supervisor."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        return self.process.wait(HANG_SECONDS)

    def log(self):
        return (self.data_dir.parent / "serve.log").read_text()

    def close(self):
        if self.process:
            if self.process.poll() is None:
                self.process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(HANG_SECONDS)
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()
            self._log.close()
        shutil.rmtree((self.data_dir / valkey.LINK).resolve().parent, ignore_errors=True)


@pytest.fixture
def make_service(tmp_path):
    """Create services that share one data folder; all their processes are ended after the test."""
    made = []

    def make(environment=None, **options):
        made.append(Service(tmp_path / "data", environment or {}, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()
