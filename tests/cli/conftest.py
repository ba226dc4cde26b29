import json

import pytest
from click.testing import CliRunner

from grader.cli import main


@pytest.fixture
def run():
    """Run `fairboard` with arguments in this process."""

    def run_command(*arguments):
        return CliRunner().invoke(main, [str(argument) for argument in arguments], prog_name="fairboard")

    return run_command


@pytest.fixture
def run_json(run):
    """Run `fairboard … --json` and return its exit code and the one object on stdout."""

    def run_command(*arguments):
        result = run(*arguments, "--json")
        return result.exit_code, json.loads(result.stdout)

    return run_command
