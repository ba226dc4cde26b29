"""Administrators' status: page, API and statements."""

import json
import socket
from datetime import timedelta

import pytest
from pydantic import SecretStr

from grader import db
from grader.models import (
    JobState,
    OrganizerJob,
    OrganizerJobKind,
    ScoringJob,
    ScoringVersion,
    ScoringVersionState,
)
from grader.services.competitions import lookup
from grader.services.scoring import jobs
from grader.settings import unknown_variables
from grader.supervisor import status
from tests.fixtures.desk import API, Desk
from tests.fixtures.statements import expected, recorded

READ = """
read
    select login, user_account
    select clock_timestamp
    select scoring_job, scoring_version, competition
    select scoring_job, scoring_version, competition
    select organizer_job, competition
    select organizer_job, competition
    select scoring_job, scoring_version
    select scoring_job, scoring_version
    select organizer_job
    select mail
    select submission, data_file
    select backup_run
    select alembic_version
    show
    select clock_timestamp
    select scoring_job
    select scoring_job
    select scoring_job
    select scoring_job
    select scoring_job, scoring_version, submission
    select submission
    select clock_timestamp
    select backup_run
    select backup_run
    select backup_run
    select backup_run
"""


@pytest.fixture
def root(arena) -> Desk:
    """An administrator of a site with a claimed submission and a failed organizers' job."""
    arena.competition()
    arena.submit(arena.person("Ann"), arena.truth.predictions())
    arena.submit(arena.person("Bob"), arena.truth.predictions())
    with arena.database.write() as session:
        now = db.now(session)
        assert jobs.claim(
            session,
            job_id=1,
            lease=timedelta(seconds=40),
            now=now,
            holder="elsewhere:1/77/1700000000.00",
        )
        competition = lookup.get(session, slug="toxicity")
        session.add(
            OrganizerJob(
                competition_id=competition.id,
                kind=OrganizerJobKind.TIES,
                parameters={},
                state=JobState.FAILED,
                created_at=now,
                available_at=now,
                finished_at=now,
                attempt_count=2,
                error_count=2,
                incident="deadbeef",
            )
        )
    return Desk(arena.person("Root", is_admin=True))


def test_status_lists_queues_claims_failing_jobs_files_versions_and_settings(root: Desk):
    found = root("GET", f"{API}/status").json
    queues = {each["name"]: each for each in found["queues"]}
    assert (queues["scoring"]["waiting"], queues["scoring"]["running"]) == (1, 1)
    assert queues["ties"]["failed"] == 1
    assert found["claimed"][0]["holder"] == "process 77 on another machine"
    assert (found["failing"][0]["incident"], found["failing"][0]["errors"]) == ("deadbeef", 2)
    assert {each["name"]: each["count"] for each in found["stored"]} == {"submissions": 2, "data files": 0}
    assert found["versions"]["database"].startswith(("SQLite 3", "PostgreSQL 1"))
    assert {"disk", "scoring"} <= {each["subject"] for each in found["findings"]}
    page = root.person.browser.get("/status").text
    assert "process 77 on another machine" in page and "deadbeef" in page


def test_dismissed_jobs_and_those_of_former_scoring_versions_are_not_failing(root: Desk):
    with root.arena.database.write() as session:
        session.query(OrganizerJob).update({"dismissed_at": db.now(session)})
        session.query(ScoringJob).update({"state": JobState.FAILED})
        session.query(ScoringVersion).update({"state": ScoringVersionState.RETIRED})
    found = root("GET", f"{API}/status").json
    assert (found["failing"], sum(each["failed"] for each in found["queues"])) == ([], 0)


def test_settings_that_serve_passes_on_keep_their_sources(root: Desk, monkeypatch):
    passed_on = {"HOST": "0.0.0.0", "PORT": "80", "SERVED_SOURCES": "host=default port=command"}
    for name, value in passed_on.items():
        monkeypatch.setenv(f"FAIRBOARD_{name}", value)
    given = {each["variable"]: each["source"] for each in root("GET", f"{API}/status").json["settings"]}
    assert (given["FAIRBOARD_HOST"], given["FAIRBOARD_PORT"]) == ("default", "command")
    assert list(unknown_variables()) == []


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("python", "-P", "-m", "grader.cli", "metrics"), "metrics"),
        (("python", "-m", "celery", "worker", "--hostname", "worker@%h"), "worker"),
        (("/usr/bin/valkey-server unixsocket:/tmp/a/valkey.sock",), "queue"),
        (("python", "-m", "gunicorn", "webapp.wsgi:app"), "web"),
        (("python", "-m", "grader.supervisor.guardian", "/srv/sweeper/var"), None),
    ],
)
def test_processes_are_named_by_their_command_but_not_by_the_data_folder(command, name):
    assert status._program(command) == name


def test_a_broker_that_hangs_delays_the_status_only_once(root: Desk, monkeypatch):
    asked = []
    monkeypatch.setattr(status, "BROKER_TIMEOUTS", {"socket_timeout": 0.1, "socket_connect_timeout": 0.1})
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        monkeypatch.setattr(status.broker, "impatient_app", lambda *_: asked.append(True))
        settings = root.arena.settings.model_copy(update={"broker_url": SecretStr(url)})
        with root.arena.database.read() as session:
            found = status.read(settings, session)
        silent.settimeout(0.1)
        silent.accept()[0].close()
        with pytest.raises(TimeoutError):
            silent.accept()
    assert asked == []
    assert "The broker does not respond" in found.findings[-1].message


def test_status_masks_secrets_and_names_the_source_of_each_setting(root: Desk, monkeypatch):
    monkeypatch.setenv("FAIRBOARD_WEB_THREADS", "16")
    given = {each["variable"]: each for each in root("GET", f"{API}/status").json["settings"]}
    assert given["FAIRBOARD_WEB_THREADS"]["source"] == "environment"
    assert given["FAIRBOARD_LOGIN_DAYS"]["source"] == "default"
    secret = root.arena.settings.secret()
    told = json.dumps(given) + root.person.browser.get("/status").text
    assert secret not in told
    for value in (root.arena.settings.database_url, root.arena.settings.secret_key):
        assert value is None or value.get_secret_value() not in told


def test_a_broker_that_does_not_respond_is_a_finding(root: Desk, monkeypatch):
    changed = root.arena.settings.model_copy(update={"broker_url": SecretStr("redis://127.0.0.1:1/0")})
    object.__setattr__(root.arena.app.extensions["fairboard"], "settings", changed)
    found = root("GET", f"{API}/status").json
    assert any("The broker does not respond" in each["message"] for each in found["findings"])
    assert (found["processes"], found["versions"]["broker"]) == ([], "none")


def test_status_page_sends_the_same_statements_for_any_number_of_jobs(root: Desk):
    with recorded(root.arena.database) as sent:
        assert root.person.browser.get("/status").status_code == 200
    lines = expected(READ, root.arena.database).split("\n")
    if root.arena.database.engine.dialect.name == "sqlite":
        lines.remove("show")
    assert sent.lines[:-1] == lines and "notification" in sent.lines[-1]
