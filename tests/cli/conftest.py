import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from grader import db
from grader.cli import main
from grader.services.accounts import administrators, api_tokens
from grader.services.accounts.api_tokens import Scope
from grader.services.audit.log import Actor
from grader.settings import Settings
from grader.worker.scorer import Scorer


class ScoringHere:
    """A substitute for `JobChild` that starts no process, because starting one would take too long."""

    def __init__(self, settings: Settings):
        # A log would interrupt the progress display.
        self._scorer = Scorer.of(settings)

    def close(self):
        self._scorer._database.dispose()

    def rescore(self, scoring_version_id: int) -> bool:
        return self._scorer.run_batch(scoring_version_id)


@pytest.fixture
def scoring_here(monkeypatch: pytest.MonkeyPatch):
    """Score the files of a rescoring in the test's own process."""
    monkeypatch.setattr("grader.cli.organize.here.JobChild", ScoringHere)


@pytest.fixture
def empty_site(tmp_path: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch):
    """An empty site in its own data folder, which the environment configures."""
    monkeypatch.setenv("FAIRBOARD_DATA_DIR", str(tmp_path / "var"))
    monkeypatch.setenv("FAIRBOARD_PASSWORD_HASH_MEMORY_KIB", "8")


@pytest.fixture
def run():
    """Run `fairboard` in this process with the given arguments and with `input` as standard input."""

    def run_command(*arguments, **options):
        words = [str(argument) for argument in arguments]
        return CliRunner().invoke(main, words, prog_name="fairboard", **options)

    return run_command


@pytest.fixture
def run_json(run):
    """Run `fairboard … --json`; return its exit code and the single object on stdout."""

    def run_command(*arguments, **options):
        result = run(*arguments, "--json", **options)
        return result.exit_code, json.loads(result.stdout)

    return run_command


@pytest.fixture(autouse=True)
def config_folder(tmp_path, monkeypatch):
    """Remove the user's login, keyring and settings; return the folder in which a login would be stored."""
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    for name in ("SERVER", "TOKEN", "COMPETITION"):
        monkeypatch.delenv(f"FAIRBOARD_{name}", raising=False)
    monkeypatch.setattr(click, "get_app_dir", lambda name: str(tmp_path / "config" / name))
    return tmp_path / "config" / "fairboard"


@pytest.fixture
def admin(run, settings, monkeypatch):
    """Run `fairboard` on the installation of the fixture `service`."""
    for name, value in settings.environment().items():
        monkeypatch.setenv(name, value)
    return run


@pytest.fixture
def ada(run, live_site, monkeypatch):
    """Run `fairboard` as ada, with her server and token in the environment."""
    monkeypatch.setenv("FAIRBOARD_SERVER", live_site.address)
    monkeypatch.setenv("FAIRBOARD_TOKEN", live_site.make_token())
    return run


@pytest.fixture
def olga(run, service, live_site, monkeypatch):
    """Run `fairboard` as Olga, an administrator, on a site that runs organizer jobs."""
    with service.database.write() as session:
        user, now = session.merge(service.user("olga")), db.now(session)
        administrators.change(session, user=user, is_admin=True, actor=Actor.shell(), now=now)
        token = api_tokens.create(session, user=user, name="desk", scopes=tuple(Scope), now=now)[1]
    monkeypatch.setenv("FAIRBOARD_TOKEN", token)
    monkeypatch.setattr("grader.client.organizer.POLL_SECONDS", 0.05)
    live_site.work_for_organizers()
    return lambda *words, **options: run(*words, "--server", live_site.address, **options)
