import os
import re
import signal
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import click
import pytest

from grader.cli import configuration
from grader.maintenance import schema
from grader.models import ScoringVersionState
from grader.services.accounts import (
    accounts,
    api_tokens,
    email_addresses,
    logins,
    password_resets,
    second_factors,
    sign_ups,
)
from grader.services.accounts.one_time_links import InvalidLink
from grader.services.accounts.second_factors import NewApp, Proof
from grader.services.audit.log import Actor
from grader.services.competitions import lookup, phases
from grader.services.leaderboards import leaderboard
from grader.services.people import names
from grader.services.rescoring import preparation
from grader.visibility import Phase
from tests.fixtures.authenticators import code_at
from tests.fixtures.patience import eventually

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
def solution(tmp_path, solution_csv):
    """Write a solution and return its path."""

    def write(name="solution.csv", **options):
        path = tmp_path / name
        path.write_bytes(solution_csv(**options))
        return path

    return write


def corrected(path):
    """Return a solution with some labels inverted."""
    lines = path.read_text().splitlines()
    for number in range(1, 60):
        row_id, label, rest = lines[number].split(",", 2)
        lines[number] = f"{row_id},{1 - int(label)},{rest}"
    other = path.with_name("corrected.csv")
    other.write_text("\n".join(lines) + "\n")
    return other


def rescore_command(path, *, reason):
    """Return a command line that rescores in a separate process."""
    return [sys.executable, "-m", "grader.cli", "rescore", "toxicity", str(path), "--reason", reason, "--yes"]


def board(service, slug="toxicity"):
    with service.database.read() as session:
        found = leaderboard.board_of(session, competition=lookup.get(session, slug=slug))
    return found.scoring_version, [(row.team, row.score) for row in found.rows]


def test_a_created_account_can_log_in_with_the_printed_password(admin, service):
    result = admin("user", "create", "Ada", "--admin")
    password = result.stdout.strip()
    passwords = accounts.password_hasher(service.settings)
    with service.database.read() as session:
        user = names.get_user(session, name="ada")
    assert user.is_admin
    assert accounts.has_password(user, password, passwords=passwords)
    assert password not in result.stderr


def test_tokens_have_scopes_and_an_expiry_and_are_listed_and_revoked(admin, service):
    service.user("ada")
    printed = admin("token", "create", "Ada", "--name", "board", "--scope", "read", "--days", "7").stdout
    assert re.fullmatch(r"fb_\S+\n", printed)
    text = printed.strip()
    with service.database.read() as session:
        assert api_tokens.find(session, token=text, now=service.now).user.name == "ada"
    listed = admin("token", "list", "ada").stdout
    assert re.search(r"board +fb_\S+ +read +\d{4}-", listed)
    token_id = re.findall(r"^(\d+)", listed, flags=re.MULTILINE)[0]
    assert admin("token", "revoke", "ada", token_id).exit_code == 0
    with service.database.read() as session:
        assert api_tokens.find(session, token=text, now=service.now) is None
    assert admin("token", "revoke", "ada", "999").exit_code == 1


def test_accounts_are_listed_with_their_addresses(admin, service):
    service.user("ada")
    service.user("root", is_admin=True)
    with service.database.write() as session:
        email_addresses.note(session, user=service.user("ada"), address="ada@example.org")
    listed = admin("user", "list").stdout.splitlines()
    assert [line.split()[0] for line in listed] == ["name", "ada", "root"]
    assert "ada@example.org (not confirmed)" in listed[1]
    assert "(administrator)" in listed[2]
    assert len(admin("user", "list", "--search", "EXAMPLE").stdout.splitlines()) == 2


def test_a_reset_link_works_only_for_its_user(admin, service):
    service.user("ada")
    link = admin("user", "reset-link", "Ada").stdout.strip()
    token = re.fullmatch(r"http://127\.0\.0\.1:7777/reset/(\S+)", link)[1]
    with service.database.read() as session:
        assert password_resets.whose(session, token=token, now=datetime.now(UTC)).name == "ada"
    assert "'nobody'" in admin("user", "reset-link", "nobody").stderr


def test_the_operator_suspends_reinstates_and_deletes_an_account(admin, service):
    service.user("ada")
    assert admin("user", "suspend", "ada", "--yes").exit_code == 1
    done = admin("user", "suspend", "Ada", "--reason", "Spam", "--yes").stdout
    assert done == "The account ada is suspended.\n"
    assert "ada (suspended)" in admin("user", "list").stdout
    assert "is reinstated" in admin("user", "reinstate", "ada", "--yes").stdout
    assert "is deleted" in admin("user", "delete", "ada", "--reason", "Left", "--yes").stdout
    assert "'ada'" in admin("user", "delete", "ada", "--reason", "Left", "--yes").stderr


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
    assert "'nobody'" in admin("user", "reset-second-factors", "nobody").stderr


def test_a_login_link_works_once_and_only_for_its_user(admin, service):
    service.user("ada")
    link = admin("user", "login-link", "Ada", "--next", "/competitions").stdout.strip()
    token = re.fullmatch(r"http://127\.0\.0\.1:7777/login/(\S+)\?next=%2Fcompetitions", link)[1]
    with service.database.write() as session:
        now = datetime.now(UTC)
        assert logins.link_holder(session, token=token, now=now).name == "ada"
        assert logins.link_holder(session, token=token, now=now, use=True).name == "ada"
        with pytest.raises(InvalidLink):
            logins.link_holder(session, token=token, now=now)
    assert "'nobody'" in admin("user", "login-link", "nobody").stderr


def test_invitations_are_printed_one_per_line(admin, service, monkeypatch):
    monkeypatch.setenv("FAIRBOARD_BASE_URL", "https://board.example/")
    monkeypatch.setenv("FAIRBOARD_SIGN_UP", "closed")
    result = admin("user", "invite", "--count", "3")
    links = result.stdout.split()
    assert len(set(links)) == 3
    assert all(link.startswith("https://board.example/sign-up/") for link in links)
    assert "FAIRBOARD_SIGN_UP is `closed`" in result.stderr
    with service.database.read() as session:
        sign_ups.find(session, token=links[0].rpartition("/")[2], now=datetime.now(UTC))


def test_a_competition_is_created_with_dates_identities_metric_and_overview(
    admin, service, solution, tmp_path
):
    overview = tmp_path / "overview.md"
    overview.write_text("# Be kind")
    result = admin(
        *("competition", "create", "cup", "--solution", solution(), "--title", "Cup", "--label", "toxicity"),
        *("--identities", "muslim", "--opens", "2030-01-01", "--closes", "2030-02-01T12:00+02:00"),
        *("--power", "-3", "--weights", "0.7", "0.1", "0.1", "0.1", "--overview", overview),
    )
    assert result.exit_code == 0, result.stderr
    with service.database.read() as session:
        competition = lookup.get(session, slug="cup")
    rules = lookup.live(competition).metric_settings
    assert competition.opens_at == datetime(2030, 1, 1, tzinfo=UTC)
    assert competition.closes_at == datetime(2030, 2, 1, 10, tzinfo=UTC)
    assert competition.overview == "# Be kind"
    assert rules["identities"] == ["muslim"]
    assert (rules["metric"]["power"], rules["metric"]["weights"]["overall_auc"]) == (-3, 0.7)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("No Slug", "--title", "Cup"), "slug 'No Slug'"),
        (("cup", "--title", " "), "needs a title"),
        (
            ("cup", "--title", "Cup", "--opens", "2030-01-02", "--closes", "2030-01-01"),
            "closing time must be after the opening time",
        ),
    ],
)
def test_an_invalid_competition_is_rejected_before_its_solution_is_sent(
    admin, tmp_path, words: tuple[str, ...], reason: str
):
    (tmp_path / "solution.csv").write_text("not a solution")
    made = admin("competition", "create", *words, "--solution", tmp_path / "solution.csv")
    assert (made.exit_code, reason in made.stderr) == (1, True), made.output
    assert admin("competition", "list").output == ""


def test_a_reveal_without_a_verification_asks_for_confirmation(admin, service):
    competition = service.competition()
    service.score(service.submit(competition))
    refused = admin("competition", "reveal", "toxicity")
    assert refused.exit_code == 1
    assert "The competing submissions have not been verified." in refused.stderr
    assert "Nothing was changed" in refused.stderr
    assert phases.phase(service.reload(competition), service.now) is Phase.OPEN
    revealed = admin("competition", "reveal", "toxicity", input="y\n")
    assert (revealed.exit_code, "with 1 team. The competition was still open" in revealed.stdout) == (0, True)
    assert "provisional" in revealed.stdout and "derive the labels\n" in revealed.stdout
    assert phases.phase(service.reload(competition), service.now) is Phase.REVEALED
    again = admin("competition", "reveal", "toxicity", "--yes")
    assert (again.exit_code, "was revealed at" in again.stderr) == (1, True)


def test_dates_in_the_past_are_reported_when_they_are_saved(admin, service, tmp_path):
    now = datetime.now(UTC)
    service.competition(opens_at=now - timedelta(days=9), closes_at=now + timedelta(days=30))
    past, ahead = (f"{now + timedelta(days=days):%Y-%m-%d}" for days in (-2, 9))
    changed = admin("competition", "change", "toxicity", "--entry-deadline", past)
    assert changed.exit_code == 0, changed.output
    assert f"Warning: The entry deadline is in the past ({past} 23:59 UTC): no one can join" in changed.stderr
    assert "Warning" not in admin("competition", "change", "toxicity", "--entry-deadline", ahead).stderr
    file = tmp_path / "settings.toml"
    file.write_text(f"[dates]\nmerger_deadline = {past}T12:00:00Z\n")
    applied = admin("competition", "apply", "toxicity", file)
    assert applied.exit_code == 0, applied.output
    assert "Warning: The merger deadline is in the past" in applied.stderr
    draft = tmp_path / "next.toml"
    draft.write_text(f'title = "Next"\n\n[dates]\nopens = {past}T12:00:00Z\n')
    created = admin("competition", "create", draft)
    assert created.exit_code == 0, created.output
    assert "is in the past" in created.stderr and "as soon as it is published" in created.stderr


# The process prints its progress and its log.
@pytest.mark.long
@on_sqlite
def test_a_rescoring_shows_its_progress_and_no_log(service, settings, solution):
    service.score(service.submit(service.competition()))
    path = corrected(solution())
    done = subprocess.run(
        rescore_command(path, reason="Corrected."),
        env=os.environ | settings.environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    progress, *effects = done.stderr.splitlines()
    assert progress == "1 of 1 submissions scored"
    assert all(line.endswith(".") for line in effects)


@pytest.mark.long
@pytest.mark.usefixtures("scoring_here")
def test_an_interrupted_rescoring_is_continued_by_the_same_command(admin, service, settings, solution):
    """On SQLite, `tests/faults/test_switches.py` stops this command at each step."""
    competition = service.competition()
    service.score(*(service.submit(competition, user=f"team {n}", seed=n) for n in range(3)))
    path = corrected(solution())
    process = subprocess.Popen(
        rescore_command(path, reason="Wrong labels."), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    eventually(lambda: preparing(service, competition), "a version that is prepared")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert board(service)[0] == 1
    result = admin("rescore", "toxicity", path, "--reason", "Wrong labels.", "--yes")
    assert result.exit_code == 0, result.stderr
    assert "Continuing with scoring version 2." in result.stdout
    assert board(service)[0] == 2


def preparing(service, competition):
    with service.database.read() as session:
        return preparation.open_version(session, competition=competition)


def test_a_running_rescoring_blocks_another_one_until_it_is_dropped(admin, service, solution):
    from grader.files import read_solution
    from grader.services.solutions import intake

    competition = service.competition()
    path = corrected(solution())
    stored = intake.store_corrected(service.storage, read_solution(path), live=lookup.live(competition))
    with service.database.write() as session:
        preparation.prepare(
            session, competition=competition, solution=stored, reason="First.", actor=Actor(None, "bo")
        )

    refused = admin("rescore", "toxicity", solution(), "--reason", "Second.")
    dropped = admin("rescore", "toxicity", "--drop")
    again = admin("rescore", "toxicity", "--drop")

    assert (refused.exit_code, dropped.exit_code, again.exit_code) == (1, 0, 1)
    assert "First." in refused.stderr
    assert "fairboard rescore toxicity --drop" in refused.stderr
    assert "No rescoring of toxicity is in progress." in again.stderr
    with service.database.read() as session:
        states = {v.state for v in session.query(preparation.ScoringVersion)}
    assert states == {ScoringVersionState.LIVE, ScoringVersionState.DROPPED}


@pytest.mark.parametrize(
    "command",
    ["user create ada", "competition list", "token list ada", "orphans", "status", "sweeper", "backup /x"],
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
    """Write the settings file of the systemd units and run `fairboard` in another folder without settings."""
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


def test_named_and_local_installations_precede_that_of_the_systemd_units(units, tmp_path, monkeypatch):
    (tmp_path / "environment").write_text("FAIRBOARD_CONTACT=units\n")
    monkeypatch.setitem(os.environ, "FAIRBOARD_DATA_DIR", str(tmp_path / "named"))
    assert configuration.installed_settings().contact == ""
    monkeypatch.delitem(os.environ, "FAIRBOARD_DATA_DIR")
    (tmp_path / "elsewhere" / "var").mkdir()
    assert configuration.installed_settings().contact == "units"
    (tmp_path / "elsewhere" / "var" / "fairboard.db").touch()
    for name in ("CONTACT", "DATA_DIR", "CACHE_DIR"):
        monkeypatch.delitem(os.environ, f"FAIRBOARD_{name}")
    assert configuration.installed_settings().contact == ""


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


def test_settings_are_shown_without_secrets(run, monkeypatch):
    monkeypatch.setenv("FAIRBOARD_DATABASE_URL", "postgresql://fairboard:geheim@db/fairboard")
    monkeypatch.setenv("FAIRBOARD_PORT", "7000")
    result = run("settings")
    assert "FAIRBOARD_PORT=7000" in result.stdout
    assert "FAIRBOARD_DATABASE_URL=**********" in result.stdout
    assert "geheim" not in result.output


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
@pytest.mark.parametrize("command", [("serve",), ("settings",), ("competition", "list")])
def test_an_invalid_setting_is_named_before_anything_starts(
    run, monkeypatch, tmp_path, variables, sentence, command
):
    monkeypatch.setenv("FAIRBOARD_DATA_DIR", str(tmp_path / "var"))
    for name, value in variables.items():
        monkeypatch.setenv(f"FAIRBOARD_{name}", value)
    result = run(*command)
    assert result.exit_code == 1
    assert sentence in result.stderr
    assert not (tmp_path / "var").exists()


def test_an_unreachable_database_is_reported_in_one_sentence(run, monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRBOARD_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("FAIRBOARD_DATABASE_URL", "postgresql://nobody:x@127.0.0.1:1/nothing")
    result = run("competition", "list")
    assert result.exit_code == 1
    assert "The database cannot be used: " in result.stderr


@pytest.mark.parametrize("command", [("serve",), ("migrate",), ("restore", "/x")])
def test_a_data_folder_that_cannot_be_created_is_named(run, monkeypatch, tmp_path, command):
    (tmp_path / "file").touch()
    monkeypatch.setenv("FAIRBOARD_DATA_DIR", str(tmp_path / "file" / "var"))
    result = run(*command)
    assert result.exit_code == 1
    assert "cannot be used: Not a directory." in result.stderr


def test_a_heartbeat_in_an_unwritable_folder_is_rejected_before_the_sweeper_starts(admin, service):
    result = admin("sweeper", "--heartbeat", "/no/such/folder/heartbeat")
    assert result.exit_code == 1
    assert "The folder /no/such/folder is not writable." in result.stderr
