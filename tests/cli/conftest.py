import json
from typing import Self

import pytest
from click.testing import CliRunner

from grader.cli import main
from grader.settings import Settings
from grader.worker.scoring.scorer import Scorer


class ScoringHere:
    """What a `JobChild` does, without its process, whose start is most of what these tests would take."""

    def __init__(self, settings: Settings, *, is_quiet: bool):
        assert is_quiet  # a log would run through the progress
        self._scorer = Scorer.of(settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object):
        self._scorer._database.dispose()

    def rescore(self, scoring_version_id: int) -> bool:
        return self._scorer.run_batch(scoring_version_id)


@pytest.fixture
def scoring_here(monkeypatch: pytest.MonkeyPatch):
    """Rescorings score in the test's own process."""
    monkeypatch.setattr("grader.cli.organize.here.JobChild", ScoringHere)


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
