"""Log output of a whole service: one event per line, linked ids, no secrets and no hidden values."""

import json
import re
import sqlite3
import subprocess

import httpx
import pytest

from tests.fixtures.patience import HANG_SECONDS
from tests.fixtures.service import write_predictions, write_solution
from tests.supervisor.conftest import FAIRBOARD

pytestmark = pytest.mark.system

PASSWORD, WRONG = "correct-horse-battery-77", "wrong-horse-battery-88"
FORGED = "2030-01-01T00:00:00.000Z info    web: forged"


def submit_form(browser, path, **fields):
    """Send a form of a page with its CSRF token."""
    csrf = re.search(r'name="csrf_token" value="([^"]+)"', browser.get(path).text)
    return browser.post(path, data={"csrf_token": csrf[1], **fields})


def link_token(output):
    """Return the token at the end of a printed link."""
    return output.strip().rpartition("/")[2].split()[0]


def flows(running, tmp_path):
    """Perform flows with secrets and hostile texts; return all texts that no log may contain."""
    running.announced.append(running.process.stdout.readline())
    setup_link = json.loads(running.announced[-1])["event"]
    solution = tmp_path / "solution.csv"
    solution.write_bytes(write_solution())
    running.create_competition(solution)
    done = running.command_here("user", "create", "anna", "--admin")
    assert done.exit_code == 0, done.output
    scopes = [part for scope in ("read", "submit", "organize") for part in ("--scope", scope)]
    token = running.command_here("token", "create", "anna", *scopes).stdout.strip()
    links = [
        link_token(setup_link),
        link_token(running.command_here("user", "invite").stdout),
        link_token(running.command_here("user", "reset-link", "anna").stdout),
        link_token(running.command_here("user", "login-link", "anna").stdout),
    ]
    browser = httpx.Client(base_url=running.address, timeout=HANG_SECONDS)
    for path in ("setup", "sign-up", "reset", "login"):
        for each in links:
            browser.get(f"/{path}/{each}")
    submit_form(browser, "/sign-up", name="Bob", password=PASSWORD)
    hidden = set(browser.cookies.values())
    browser.cookies.clear()
    submit_form(browser, "/login", name=f"Bob\n{FORGED}", password=WRONG)
    submit_form(browser, "/login", name="Bob", password=WRONG)
    assert submit_form(browser, "/login", name="Bob", password=PASSWORD).status_code == 302
    bearer = {"Authorization": f"Bearer {token}"}
    forged = f"/nothing%0a{FORGED.replace(' ', '%20')}%0d%e2%80%a8"
    browser.get(forged, headers={"User-Agent": FORGED})
    browser.get(f"/?q=%0a{PASSWORD}")
    proxy = {"X-Request-ID": "trusted-proxy.1", "X-Forwarded-For": "192.0.2.1"}
    sent = httpx.post(
        f"{running.address}/api/v1/competitions/cup/submissions",
        files={"file": ("a\u2028b.csv", write_predictions(), "text/csv")},
        headers=bearer | proxy,
        timeout=HANG_SECONDS,
    )
    assert (sent.status_code, sent.headers["X-Request-ID"]) == (201, "trusted-proxy.1"), sent.text
    assert running.wait_until_scored(sent.json()["id"], token)["status"] == "scored"
    for blob in running.data_dir.glob("blobs/*/*"):
        blob.unlink()
    broken = httpx.get(f"{running.address}/api/v1/submissions/{sent.json()['id']}/file", headers=bearer)
    assert broken.status_code == 500, broken.text
    incident = f"Incident {broken.json()['incident']}: GET /api/v1/submissions/<int:submission_id>/file"
    assert incident in running.log()
    malformed = httpx.get(running.address, headers=proxy | {"X-Request-ID": "two words"})
    assert re.fullmatch(r"[0-9a-f]{16}", malformed.headers["X-Request-ID"])
    browser.close()
    hidden |= {PASSWORD, WRONG, token, *links, *browser.cookies.values()}
    hidden.add((running.data_dir / "secret_key").read_text())
    with sqlite3.connect(running.data_dir / "fairboard.db") as database:
        for row in database.execute("SELECT score, terms, counts FROM score WHERE split = 'private'"):
            numbers = {str(each)[:9] for each in (row[0], *json.loads(row[1]).values())}
            hidden |= {row[2][:60]} | {each for each in numbers if len(each) > 6}  # 0.5 is also a duration
        hidden |= {row[0] for row in database.execute("SELECT digest FROM solution")}
        hidden |= {row[0] for row in database.execute("SELECT nonce FROM solution")}
    database.close()
    hidden |= set(solution.read_text().splitlines()[1:20])
    return {each for each in hidden if each}


@pytest.mark.long
def test_json_events_link_a_request_with_its_job_and_contain_no_secret(make_service, tmp_path):
    running = make_service(
        {
            "FAIRBOARD_LOG_FORMAT": "json",
            "FAIRBOARD_LOG_LEVEL": "debug",
            "FAIRBOARD_TRUSTED_PROXIES": "1",
            "FAIRBOARD_METRICS_TOKEN": "x" * 16,
        }
    ).start()
    running.wait_until_ready()
    hidden = flows(running, tmp_path)
    assert running.stop() == 0

    lines = [*running.announced, *running.process.stdout, *running.log().splitlines()]
    events = [json.loads(line) for line in lines]
    required = {"time", "level", "process", "pid", "event", "logger"}
    assert all(required <= event.keys() for event in events)
    assert {"serve", "web", "worker"} <= {event["process"] for event in events}
    assert not any("superuser" in event["event"] for event in events)
    assert {text for text in hidden if text in running.log()} == set()
    linked = {event["process"]: event for event in events if event.get("request") == "trusted-proxy.1"}
    web, worker = linked["web"], linked["worker"]
    assert (web["route"], web["status"]) == ("/api/v1/competitions/<slug>/submissions", 201)
    assert web["bytes"] > 100 and web["duration_ms"] > 0
    assert web["submission"] == worker["submission"] and web["competition"] == worker["competition"]
    assert worker["job"] and "recorded" in worker["event"]


def test_json_format_includes_the_errors_of_a_start(make_service):
    (running := make_service({"FAIRBOARD_LOG_FORMAT": "json"})).start()
    again = running.command("serve", "--port", "0")
    wrong = running.environment | {"FAIRBOARD_PORT": "many"}
    done = subprocess.run([*FAIRBOARD, "serve"], env=wrong, capture_output=True, text=True)
    assert (again.returncode, done.returncode) == (1, 1)
    first, (last,) = again.stderr.splitlines(), done.stderr.splitlines()
    assert (
        "already served" in json.loads(first[-1])["event"] and "FAIRBOARD_PORT" in json.loads(last)["event"]
    )
    assert all(json.loads(each)["process"] for each in (*first, *again.stdout.splitlines()))
