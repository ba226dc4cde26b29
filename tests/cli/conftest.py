import json

import click
import pytest
from click.testing import CliRunner

from grader.cli import main


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
    """Remove the user's login and settings; return the folder in which a login would be stored."""
    for name in ("SITE", "TOKEN", "COMPETITION"):
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
    monkeypatch.setenv("FAIRBOARD_SITE", live_site.address)
    monkeypatch.setenv("FAIRBOARD_TOKEN", live_site.make_token())
    return run


@pytest.fixture
def host(admin, service, live_site, monkeypatch):
    """Run `fairboard` on the machine of a running site whose administrator is root."""
    service.user("root", is_admin=True)
    monkeypatch.setenv("FAIRBOARD_PORT", live_site.address.rpartition(":")[2])
    monkeypatch.setattr("grader.client.transport.LONGEST_POLL_SECONDS", 0.05)
    live_site.work_for_organizers()
    return admin
