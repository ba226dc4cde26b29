"""Copy of the source tree in which mutmut creates and runs a group's mutants."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.mutants.plan import ROOT, Group, Mutant

COPIED = ("fairboard", "grader", "webapp", "migrations", "tests", "docs")
SETTINGS = """
[tool.mutmut]
source_paths = ["grader"]
only_mutate = {modules}
also_copy = ["webapp", "migrations", "docs"]
pytest_add_cli_args_test_selection = {tests}
pytest_add_cli_args = [
    "-p", "tests.mutants.plugin", "-p", "no:cacheprovider", "-m", "not long", "-k", "not postgresql{without}",
]
timeout_multiplier = 3.0
timeout_constant = 60.0
use_git_change_detection = false
track_dependencies = false
use_setproctitle = false
"""
KILLED = "killed"
STATUS = {0: "survived", 1: KILLED, 3: KILLED, 5: "no tests", 33: "no tests"}
TIMED_OUT = "timed out"
TIMES_OUT = frozenset({36, -24, 24, 152, 255})


class MutantsNotRun(Exception):
    """mutmut ended with an error; the message contains its last lines."""


class Workshop:
    """The copy of the tree for one group."""

    def __init__(self, folder: Path, group: Group, files: Sequence[str]):
        self.folder = folder
        # CI makes Hypothesis generate the same examples each time and disables its deadlines.
        own = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "CI": "true"}
        self.environment = os.environ | own
        for name in COPIED:
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        without = f" and not ({group.without})" if group.without else ""
        settings = SETTINGS.format(
            modules=json.dumps(files), tests=json.dumps(group.test_files()), without=without
        )
        text = (ROOT / "pyproject.toml").read_text()
        (folder / "pyproject.toml").write_text(text + settings)

    def generate(self) -> list[Mutant]:
        """Create all mutants of the files."""
        command = [sys.executable, "-m", "tests.mutants.generate"]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise MutantsNotRun(done.stderr[-4000:])
        return [Mutant(**each) for each in json.loads(done.stdout)]

    def run(self, mutants: list[Mutant], jobs: int) -> dict[Mutant, str]:
        """Run the tests against each mutant; return the result of each."""
        command = [Path(sys.executable).with_name("mutmut"), "run", "--max-children", str(jobs)]
        command += [mutant.name for mutant in mutants]
        log = self.folder / "mutmut.log"
        with log.open("w") as output:
            done = subprocess.run(
                command, cwd=self.folder, env=self.environment, stdout=output, stderr=output, check=False
            )
        if done.returncode:
            raise MutantsNotRun(log.read_text()[-4000:])
        codes: dict[str, int | None] = {}
        for path in {mutant.path for mutant in mutants}:
            meta = self.folder / "mutants" / f"{path}.meta"
            codes |= json.loads(meta.read_text())["exit_code_by_key"]
        return {mutant: _status(codes[mutant.name]) for mutant in mutants}


def _status(code: int | None) -> str:
    if code in TIMES_OUT:
        return TIMED_OUT
    return STATUS.get(code, f"ended with {code}") if code is not None else "not run"
