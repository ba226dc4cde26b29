import json

import pytest
from click.testing import CliRunner

from grader.cli import main


@pytest.fixture
def run():
    """Run `fairboard` with arguments, and `input` as its standard input, in this process."""

    def run_command(*arguments, **options):
        words = [str(argument) for argument in arguments]
        return CliRunner().invoke(main, words, prog_name="fairboard", **options)

    return run_command


@pytest.fixture
def run_json(run):
    """Run `fairboard … --json` and return its exit code and the one object on stdout."""

    def run_command(*arguments, **options):
        result = run(*arguments, "--json", **options)
        return result.exit_code, json.loads(result.stdout)

    return run_command
