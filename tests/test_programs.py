"""Missing programs: skipped tests on developers' machines, failures in CI."""

import re
from pathlib import Path

import pytest

from tests.fixtures.programs import find_program

ROOT = Path(__file__).parents[1]


def test_missing_program_skips_the_test_and_names_the_command(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"no-such-program is missing.*apt-get install it"):
        find_program("no-such-program", command="apt-get install it")


def test_missing_program_fails_the_test_in_ci(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=r"no-such-program is missing.*apt-get install it"):
        find_program("no-such-program", command="apt-get install it")


def test_ci_installs_every_program_that_tests_require():
    script = (ROOT / ".ci/run").read_text()
    commands = {
        name
        for path in ROOT.glob("tests/**/*.py")
        for command in re.findall(r'command="apt-get install ([^",]+)', path.read_text())
        for name in command.split()
        if path != Path(__file__)
    }
    assert len(commands) >= 4
    assert commands <= set(re.findall(r"[\w-]+", " ".join(re.findall(r"missing\+=\((.*?)\)", script))))
