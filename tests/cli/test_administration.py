"""Accounts, tokens, links and settings with commands on this machine."""

import os
import re
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime

import click
import pytest

from grader.cli import configuration
from grader.models import LinkPurpose
from grader.services.competitions import acting
from grader.services.identity import (
    accounts,
    api_tokens,
    email_addresses,
    logins,
    names,
    one_time_links,
    second_factors,
)
from grader.services.identity.second_factors import NewApp, Proof
from grader.services.site.log import Actor
from tests.fixtures.authenticators import code_at

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def test_accounts_tokens_and_links_are_created(admin, service):
    service.user("root", is_admin=True)
    created = admin("user", "create", "Ada", "--admin")
    words = ("--name", "board", "--scope", "read", "--days", "7")
    token = admin("token", "create", "Ada", *words).stdout.strip()
    link = admin("user", "login-link", "Ada", "--next", "/competitions").stdout.strip()
    link_token = re.fullmatch(r"http://127\.0\.0\.1:7777/login/(\S+)\?next=%2Fcompetitions", link)[1]
    with service.database.write() as session:
        ada = names.get_user(session, name="ada")
        assert ada.is_admin
        password = created.stdout.strip()
        assert accounts.has_password(ada, password, passwords=accounts.password_hasher(service.settings))
        found, _ = api_tokens.find(session, token=token, now=service.now)
        assert (found.user.name, found.name, found.scopes) == ("Ada", "board", ["read"])
        assert found.expires_at is not None
        assert (
            one_time_links.holder(
                session, purpose=LinkPurpose.LOG_IN, token=link_token, now=datetime.now(UTC)
            ).name
            == "Ada"
        )
    assert "no longer" in admin("user", "admin", "ada", "--off").stdout


@pytest.mark.parametrize(
    "words", ["token create", "user login-link", "user reset-second-factors", "user admin"]
)
def test_an_unknown_account_is_named(admin, service, words):
    refused = admin(*words.split(), "nobody")
    assert (refused.exit_code, "'nobody'" in refused.stderr) == (1, True)


@on_sqlite
def test_accounts_are_listed_suspended_reinstated_and_deleted(host, service):
    with service.database.write() as session:
        email_addresses.note(session, user=service.user("ada"), address="ada@example.org")
    listed = host("user", "list").stdout.splitlines()
    assert [line.split()[0] for line in listed] == ["name", "ada", "root"]
    assert "ada@example.org" in listed[1] and listed[2].split()[1] == "yes"
    assert len(host("user", "list", "--search", "EXAMPLE").stdout.splitlines()) == 2
    assert "/reset/" in host("user", "reset-link", "Ada").stdout
    assert host("user", "reset-link", "nobody").exit_code == 1
    assert host("user", "suspend", "ada", input="n\n").exit_code == 1
    done = host("user", "suspend", "Ada", "--reason", "Spam", "--yes").stdout
    assert done == "The account ada is suspended.\n"
    assert len(host("user", "list").stdout.splitlines()[1].split()) > len(listed[1].split())
    assert "is reinstated" in host("user", "reinstate", "ada", "--yes").stdout
    assert "is deleted" in host("user", "delete", "ada", "--reason", "Left", "--yes").stdout
    assert host("user", "invite").stdout.startswith("http")


def test_the_operator_resets_the_second_factors_of_anyone(admin, service):
    user, now = service.user("root", is_admin=True), datetime.now(UTC)
    app = NewApp.of(user, key_id="a", key="key")
    proof = Proof(code=code_at(app.secret, now))
    with service.database.write() as session:
        act = acting.of_site(session, Actor.of(user), now)
        second_factors.add(act, name="", proof=proof, app=app, ceremony=None, keep=None)
    assert "without a second factor" in admin("user", "reset-second-factors", "Root").stdout
    with service.database.read() as session:
        assert not logins.has_factor(session, user=user)


@pytest.mark.parametrize("command", ["user create ada", "competition list"])
@pytest.mark.parametrize("kind", ["missing", "other database"])
def test_a_command_rejects_a_folder_without_a_site_and_creates_nothing(
    run, monkeypatch, tmp_path, command, kind
):
    folder = tmp_path / "new"
    monkeypatch.setenv("FAIRBOARD_DATA_DIR", str(folder))
    if kind == "other database":
        sqlite3.connect(tmp_path / "other.db").execute("VACUUM").connection.close()
        monkeypatch.setenv("FAIRBOARD_DATABASE_URL", f"sqlite:///{tmp_path}/other.db")
    result = run(*command.split())
    assert (result.exit_code, result.stdout) == (1, "")
    assert "contains no site." in result.stderr
    assert kind == "other database" or not folder.exists()


@pytest.fixture
def units(monkeypatch, tmp_path):
    """Return the folders of the systemd units, after removing all settings and changing the folder."""
    monkeypatch.setattr(configuration, "UNITS_FILE", tmp_path / "environment")
    defaults = {name: str(tmp_path / name.lower()) for name in configuration.UNITS_DEFAULTS}
    monkeypatch.setattr(configuration, "UNITS_DEFAULTS", defaults)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    for name in list(os.environ):
        if name.startswith("FAIRBOARD_"):
            del os.environ[name]
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return defaults


def test_the_installation_of_the_systemd_units_is_used(run, units, tmp_path):
    (tmp_path / "environment").write_text(
        "# Comment\n; FAIRBOARD_PORT=1\n\nFAIRBOARD_CONTACT=Ada's # team \n"
        'FAIRBOARD_OIDC_PROVIDERS="[a]\nlabel=\\"x\\"\n"\n  FAIRBOARD_HOST=\'::\'\nFAIRBOARD_PORT = 3\n'
    )
    found = configuration.installed_settings
    with pytest.raises(click.ClickException, match="OIDC_PROVIDERS"):  # a provider needs more settings
        found()
    assert os.environ["FAIRBOARD_OIDC_PROVIDERS"] == '[a]\nlabel="x"\n'
    del os.environ["FAIRBOARD_OIDC_PROVIDERS"]
    (tmp_path / "environment").write_text((tmp_path / "environment").read_text().replace("OIDC", "X"))
    assert (found().contact, found().host, found().port) == ("Ada's # team", "::", 7777)
    assert str(found().data_dir) == units["FAIRBOARD_DATA_DIR"]
    assert run("migrate").exit_code == 0 and run("user", "create", "ada").exit_code == 0
    assert not any((tmp_path / "elsewhere").iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_root_acts_as_the_owner_of_the_data_folder(admin, service):
    """Files of root would be unreadable for the service."""
    service.settings.data_dir.mkdir(exist_ok=True)
    os.chown(service.settings.data_dir, 65534, 65534)
    command = "from grader.cli.configuration import installed_settings; import os; installed_settings(); "
    command += "print(os.getresuid(), os.getresgid(), os.getgroups(), os.environ['HOME'])"
    told = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    folder = service.settings.data_dir.resolve()
    assert told.stdout == f"(65534, 65534, 65534) (65534, 65534, 65534) [] {folder}\n", told.stderr


def test_migrate_creates_private_tables_and_the_administrator_from_the_settings_once(
    run, monkeypatch, tmp_path
):
    (tmp_path / "password").write_text("correct horse battery\n")
    (tmp_path / "data").mkdir(mode=0o755)
    monkeypatch.setenv("FAIRBOARD_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("FAIRBOARD_ADMIN_PASSWORD_FILE", str(tmp_path / "password"))
    assert "must be set together" in run("migrate").stderr
    monkeypatch.setenv("FAIRBOARD_ADMIN_NAME", "ada")
    mask = os.umask(0o022)
    try:
        first, second = run("migrate"), run("migrate")
    finally:
        os.umask(mask)
    assert first.stdout.startswith("The database schema is at ")
    assert first.stdout.endswith("Created the administrator ada.\n")
    assert second.stdout.startswith("The database schema is at ") and "administrator" not in second.stdout
    shown = run("settings").stdout
    assert "FAIRBOARD_ADMIN_PASSWORD=**********" in shown
    assert all("battery" not in each for each in (first.output, second.output, shown))
    files = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert tmp_path / "data" / "fairboard.db" in files
    assert [path.name for path in files if path.stat().st_mode & 0o077] == []


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"DATABASE_URL": "nonsense"}, "FAIRBOARD_DATABASE_URL: "),
        ({"DATABASE_URL": "mysql://db/fairboard"}, "FAIRBOARD_DATABASE_URL: "),
        ({"BROKER_URL": "localhost:6379"}, "FAIRBOARD_BROKER_URL: "),
        ({"STORAGE_URL": "s3:///files"}, "FAIRBOARD_STORAGE_URL: "),
        ({"STORAGE_URL": "ftp://host/files"}, "FAIRBOARD_STORAGE_URL: "),
        ({"SECRET_KEY_FILE": "/no/such/file"}, "/no/such/file, specified by FAIRBOARD_SECRET_KEY_FILE, "),
        ({"BROKER_URI": "redis://queue"}, "Did you mean FAIRBOARD_BROKER_URL?"),
        ({"PORT": "many"}, "FAIRBOARD_PORT: "),
    ],
)
def test_an_invalid_setting_is_named_before_anything_starts(run, monkeypatch, tmp_path, variables, sentence):
    monkeypatch.setenv("FAIRBOARD_DATA_DIR", str(tmp_path / "var"))
    for name, value in variables.items():
        monkeypatch.setenv(f"FAIRBOARD_{name}", value)
    result = run("serve")
    assert (result.exit_code, sentence in result.stderr) == (1, True), result.stderr
    assert not (tmp_path / "var").exists()


@pytest.mark.parametrize("command", [("serve",), ("migrate",), ("restore", "/x")])
def test_a_data_folder_that_cannot_be_created_is_named(run, monkeypatch, tmp_path, command):
    (tmp_path / "file").touch()
    monkeypatch.setenv("FAIRBOARD_DATA_DIR", str(tmp_path / "file" / "var"))
    result = run(*command)
    assert (result.exit_code, "cannot be used: Not a directory." in result.stderr) == (1, True)
