"""Log output of a whole service: one event per line, linked ids, no secrets and no hidden values."""

import http.client
import json
import re
import sqlite3
from urllib.parse import urlencode, urlsplit

import pytest

from tests.fixtures.patience import HANG_SECONDS
from tests.fixtures.service import write_predictions, write_solution

pytestmark = pytest.mark.system

PASSWORD, WRONG = "correct-horse-battery-77", "wrong-horse-battery-88"
FORGED = "2030-01-01T00:00:00.000Z info    web: forged"


class Browser:
    """Requests with cookies and arbitrary headers to a running service."""

    def __init__(self, running):
        self._host = urlsplit(running.address).netloc
        self.cookies: dict[str, str] = {}

    def send(self, method, path, *, fields=None, body=None, **headers):
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        if fields is not None:
            sent["Content-Type"], body = "application/x-www-form-urlencoded", urlencode(fields)
        connection = http.client.HTTPConnection(self._host, timeout=HANG_SECONDS)
        try:
            connection.putrequest(method, path)
            for name, value in sent.items():
                connection.putheader(name, value)
            content = body.encode() if isinstance(body, str) else body or b""
            connection.putheader("Content-Length", str(len(content)))
            connection.endheaders(content)
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        for name, value in answer.getheaders():
            if name.lower() == "set-cookie":
                key, _, rest = value.partition("=")
                self.cookies[key] = rest.partition(";")[0]
        return answer, text

    def submit_form(self, path, **fields):
        """Send a form of a page with its CSRF token."""
        _, page = self.send("GET", path)
        csrf = re.search(r'name="csrf_token" value="([^"]+)"', page)
        assert csrf, page
        return self.send("POST", path, fields={"csrf_token": csrf[1], **fields})


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
    browser = Browser(running)
    for path in ("setup", "sign-up", "reset", "login"):
        for each in links:
            browser.send("GET", f"/{path}/{each}")
    browser.submit_form("/sign-up", name="Bob", password=PASSWORD)
    hidden = set(browser.cookies.values())
    browser.cookies.clear()
    browser.submit_form("/login", name=f"Bob\n{FORGED}", password=WRONG)
    browser.submit_form("/login", name="Bob", password=WRONG)
    answer, _ = browser.submit_form("/login", name="Bob", password=PASSWORD)
    assert answer.status == 302
    bearer = f"Bearer {token}"
    browser.send("GET", f"/nothing%0a{FORGED.replace(' ', '%20')}%0d%e2%80%a8", User_Agent=f"{FORGED}\x1b[2J")
    browser.send("GET", f"/?q=%0a{PASSWORD}")
    file = write_predictions()
    form = (
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="a\xe2\x80\xa8b.csv"\r\n'
        b"Content-Type: text/csv\r\n\r\n" + file + b"\r\n--x--\r\n"
    )
    sent, text = Browser(running).send(
        "POST",
        "/api/v1/competitions/cup/submissions",
        body=form,
        Authorization=bearer,
        Content_Type="multipart/form-data; boundary=x",
        X_Request_ID="trusted-proxy.1",
        X_Forwarded_For="192.0.2.1",
    )
    assert (sent.status, sent.headers["X-Request-ID"]) == (201, "trusted-proxy.1"), text
    assert running.wait_until_scored(json.loads(text)["id"], token)["status"] == "scored"
    for blob in running.data_dir.glob("blobs/*/*"):
        blob.unlink()
    broken, text = Browser(running).send(
        "GET", f"/api/v1/submissions/{json.loads(text)['id']}/file", Authorization=bearer
    )
    assert broken.status == 500, text
    assert f"Incident {json.loads(text)['incident']}: GET /api/v1/submissions/<int:submission_id>/file" in (
        running.log()
    )
    malformed, _ = Browser(running).send("GET", "/", X_Request_ID="two words", X_Forwarded_For="192.0.2.1")
    assert re.fullmatch(r"[0-9a-f]{16}", malformed.headers["X-Request-ID"])
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
