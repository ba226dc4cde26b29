import os
import re
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime

import click
import pytest

from grader.cli import configuration
from grader.maintenance import schema
from grader.services.identity import (
    accounts,
    api_tokens,
    email_addresses,
    logins,
    names,
    password_resets,
    second_factors,
    sign_ups,
)
from grader.services.identity.second_factors import NewApp, Proof
from tests.fixtures.authenticators import code_at
from tests.fixtures.refusals import refused

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def test_a_created_account_can_log_in_with_the_printed_password(admin, service):
    result = admin("user", "create", "Ada", "--admin")
    password = result.stdout.strip()
    passwords = accounts.password_hasher(service.settings)
    with service.database.read() as session:
        user = names.get_user(session, name="ada")
    assert user.is_admin
    assert accounts.has_password(user, password, passwords=passwords)
    assert password not in result.stderr


def test_a_token_is_created_with_its_scopes_and_expiry(admin, service):
    service.user("ada")
    printed = admin("token", "create", "Ada", "--name", "board", "--scope", "read", "--days", "7").stdout
    with service.database.read() as session:
        found = api_tokens.find(session, token=printed.strip(), now=service.now)
        assert (found.user.name, found.name, found.scopes) == ("ada", "board", ["read"])
        assert found.expires_at is not None
    assert admin("token", "create", "nobody").exit_code == 1


@on_sqlite
def test_accounts_are_listed_with_their_addresses(host, service):
    with service.database.write() as session:
        email_addresses.note(session, user=service.user("ada"), address="ada@example.org")
    listed = host("user", "list").stdout.splitlines()
    assert [line.split()[0] for line in listed] == ["name", "ada", "root"]
    assert "ada@example.org (not confirmed)" in listed[1]
    assert "(administrator)" in listed[2]
    assert len(host("user", "list", "--search", "EXAMPLE").stdout.splitlines()) == 2


@on_sqlite
def test_a_reset_link_works_only_for_its_user(host, service):
    service.user("ada")
    link = host("user", "reset-link", "Ada").stdout.strip()
    token = re.fullmatch(r"http://127\.0\.0\.1:\d+/reset/(\S+)", link)[1]
    with service.database.read() as session:
        assert password_resets.whose(session, token=token, now=datetime.now(UTC)).name == "ada"
    assert host("user", "reset-link", "nobody").exit_code == 1


@on_sqlite
def test_an_account_is_suspended_reinstated_and_deleted(host, service):
    service.user("ada")
    assert host("user", "suspend", "ada", input="n\n").exit_code == 1
    done = host("user", "suspend", "Ada", "--reason", "Spam", "--yes").stdout
    assert done == "The account ada is suspended.\n"
    assert "ada (suspended)" in host("user", "list").stdout
    assert "is reinstated" in host("user", "reinstate", "ada", "--yes").stdout
    assert "is deleted" in host("user", "delete", "ada", "--reason", "Left", "--yes").stdout
    assert host("user", "delete", "ada", "--reason", "Left", "--yes").exit_code == 1


def test_the_operator_resets_the_second_factors_of_anyone(admin, service):
    user, now = service.user("root", is_admin=True), datetime.now(UTC)
    app = NewApp.of(user, key_id="a", key="key")
    proof = Proof(code=code_at(app.secret, now))
    with service.database.write() as session:
        second_factors.add(
            session, user=user, name="", proof=proof, app=app, ceremony=None, keep=None, now=now
        )
    assert "without a second factor" in admin("user", "reset-second-factors", "Root").stdout
    with service.database.read() as session:
        assert not logins.has_factor(session, user=user)
    assert admin("user", "reset-second-factors", "nobody").exit_code == 1


def test_a_login_link_works_once_and_only_for_its_user(admin, service):
    service.user("ada")
    link = admin("user", "login-link", "Ada", "--next", "/competitions").stdout.strip()
    token = re.fullmatch(r"http://127\.0\.0\.1:7777/login/(\S+)\?next=%2Fcompetitions", link)[1]
    with service.database.write() as session:
        now = datetime.now(UTC)
        assert logins.link_holder(session, token=token, now=now).name == "ada"
        assert logins.link_holder(session, token=token, now=now, use=True).name == "ada"
        with refused("invalid_link"):
            logins.link_holder(session, token=token, now=now)
    assert "'nobody'" in admin("user", "login-link", "nobody").stderr


@on_sqlite
def test_invitations_are_printed_one_per_line(host, service):
    links = host("user", "invite", "--count", "3").stdout.split()
    assert len(set(links)) == 3
    with service.database.read() as session:
        sign_ups.find(session, token=links[0].rpartition("/")[2], now=datetime.now(UTC))


@pytest.mark.parametrize(
    "command",
    ["user create ada", "competition list"],
)
@pytest.mark.parametrize("kind", ["missing", "empty", "other database"])
def test_a_command_rejects_a_folder_without_a_site_and_creates_nothing(
    run, monkeypatch, tmp_path, command: str, kind: str
):
    folder = tmp_path / "new"
    monkeypatch.setenv("FAIRBOARD_DATA_DIR", str(folder))
    if kind == "other database":
        sqlite3.connect(tmp_path / "other.db").execute("VACUUM").connection.close()
        monkeypatch.setenv("FAIRBOARD_DATABASE_URL", f"sqlite:///{tmp_path}/other.db")
    elif kind == "empty":
        folder.mkdir()
    result = run(*command.split())
    assert (result.exit_code, result.stdout) == (1, "")
    assert "contains no site." in result.stderr and "`fairboard migrate`" in result.stderr
    assert kind == "other database" or not folder.exists() or not any(folder.iterdir())


@pytest.fixture
def units(run, monkeypatch, tmp_path):
    """

    from tests.fixtures.refusals import refused
    Write the settings file of the systemd units and run `fairboard` in another folder without settings."""
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
    assert run("user", "create", "ada").exit_code == 1
    assert run("migrate").exit_code == 0 and run("user", "create", "ada").exit_code == 0
    assert not any((tmp_path / "elsewhere").iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_root_acts_as_the_owner_of_the_data_folder(admin, service):
    """Files of root would be unreadable for the service."""
    service.settings.data_dir.mkdir(exist_ok=True)
    os.chown(service.settings.data_dir, 65534, 65534)
    command = "from grader.cli.configuration import installed_settings; import os; installed_settings(); "
    command += "print(os.getresuid(), os.getresgid(), os.getgroups(), os.environ['HOME'])"
    told = subprocess.run(
        [sys.executable, "-c", command],
        capture_output=True,
        text=True,
    )
    folder = service.settings.data_dir.resolve()
    assert told.stdout == f"(65534, 65534, 65534) (65534, 65534, 65534) [] {folder}\n", told.stderr


@pytest.fixture
def unknown_revision(service):
    """The tables, marked with a revision of another history."""

    def stamp(revision):
        with service.database.engine.begin() as connection:
            connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{revision}'")

    head = schema.head()
    stamp("0053")
    yield "0053"
    stamp(head)


@pytest.mark.parametrize("command", [("user", "create", "ada"), ("migrate",)])
def test_tables_of_another_version_are_not_changed(admin, unknown_revision, command):
    result = admin(*command)
    assert result.exit_code == 1
    assert f"the schema {unknown_revision}" in result.stderr


def test_migrate_creates_the_tables_and_may_be_repeated(run, monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRBOARD_DATA_DIR", str(tmp_path))
    first, second = run("migrate"), run("migrate")
    assert first.stdout.startswith("Upgraded the database schema from no tables to ")
    assert second.stdout.startswith("The database schema is at ")


def test_migrate_creates_the_administrator_from_the_settings_once(run, monkeypatch, tmp_path):
    (tmp_path / "password").write_text("correct horse battery\n")
    monkeypatch.setenv("FAIRBOARD_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("FAIRBOARD_ADMIN_PASSWORD_FILE", str(tmp_path / "password"))
    incomplete = run("migrate")
    assert incomplete.exit_code == 1
    assert "FAIRBOARD_ADMIN_NAME and FAIRBOARD_ADMIN_PASSWORD must be set together" in incomplete.stderr
    monkeypatch.setenv("FAIRBOARD_ADMIN_NAME", "ada")
    first, second = run("migrate"), run("migrate")
    assert first.stdout.endswith("Created the administrator ada.\n")
    assert "administrator" not in second.stdout
    shown = run("settings").stdout
    assert "FAIRBOARD_ADMIN_PASSWORD=**********" in shown
    assert all("battery" not in each for each in (first.output, second.output, shown))


def test_files_in_an_existing_data_folder_are_not_readable_by_others(run, monkeypatch, tmp_path):
    tmp_path.chmod(0o755)
    monkeypatch.setenv("FAIRBOARD_DATA_DIR", str(tmp_path))
    mask = os.umask(0o022)
    try:
        assert run("migrate").exit_code == 0
    finally:
        os.umask(mask)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert tmp_path / "fairboard.db" in files
    assert [path.name for path in files if path.stat().st_mode & 0o077] == []


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        (
            {"SCORING_LEASE_SECONDS": "10"},
            "FAIRBOARD_SCORING_LEASE_SECONDS must be longer than FAIRBOARD_SCORING_TIME_LIMIT_SECONDS.",
        ),
        (
            {"METRICS_TOKEN": "short"},
            "FAIRBOARD_METRICS_TOKEN: Value should have at least 16 characters, not 5.",
        ),
        ({"DATABASE_URL": "nonsense"}, "FAIRBOARD_DATABASE_URL: expected postgresql://"),
        ({"DATABASE_URL": "mysql://db/fairboard"}, "FAIRBOARD_DATABASE_URL: expected postgresql://"),
        ({"BROKER_URL": "localhost:6379"}, "FAIRBOARD_BROKER_URL: expected redis://host:6379/0"),
        ({"BASE_URL": "board.example.org"}, "FAIRBOARD_BASE_URL: expected an address such as https://"),
        ({"STORAGE_URL": "s3:///files"}, "FAIRBOARD_STORAGE_URL: expected s3://bucket/prefix or"),
        ({"STORAGE_URL": "ftp://host/files"}, "FAIRBOARD_STORAGE_URL: expected s3://bucket/prefix or"),
        (
            {"SECRET_KEY_FILE": "/no/such/file"},
            "The file /no/such/file, specified by FAIRBOARD_SECRET_KEY_FILE, cannot be read: No such file or "
            "directory.",
        ),
        (
            {"BROKER_URI": "redis://queue", "PORT": "many"},
            "FAIRBOARD_BROKER_URI is not a setting. Did you mean FAIRBOARD_BROKER_URL?\nFAIRBOARD_PORT: ",
        ),
    ],
)
def test_an_invalid_setting_is_named_before_anything_starts(run, monkeypatch, tmp_path, variables, sentence):
    monkeypatch.setenv("FAIRBOARD_DATA_DIR", str(tmp_path / "var"))
    for name, value in variables.items():
        monkeypatch.setenv(f"FAIRBOARD_{name}", value)
    result = run("serve")
    assert result.exit_code == 1
    assert sentence in result.stderr
    assert not (tmp_path / "var").exists()


@pytest.mark.parametrize("command", [("serve",), ("migrate",), ("restore", "/x")])
def test_a_data_folder_that_cannot_be_created_is_named(run, monkeypatch, tmp_path, command):
    (tmp_path / "file").touch()
    monkeypatch.setenv("FAIRBOARD_DATA_DIR", str(tmp_path / "file" / "var"))
    result = run(*command)
    assert result.exit_code == 1
    assert "cannot be used: Not a directory." in result.stderr
