"""Database faults: crash, connection loss during COMMIT, many concurrent SQLite writers."""

import select
import socket
import threading
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import make_url
from sqlalchemy import select as select_rows

from grader.models import Submission

on_postgresql = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
ADDRESS = "/api/v1/competitions/toxicity/submissions"


class TestCrash:
    """A PostgreSQL server to crash and restart. The nemesis does the same during uploads."""

    @pytest.fixture
    def database_url(self, own_postgresql):
        return str(own_postgresql.url)

    def test_responses_without_a_database_set_retry_after_and_the_site_recovers(
        self, service, web, make_token, own_postgresql, predictions_csv, eventually
    ):
        service.competition()
        caller = web.caller(make_token())
        web.start()
        own_postgresql.terminate_connections()
        assert caller.send(predictions_csv(seed=1), key="first").status == 201
        own_postgresql.crash()
        upload = caller.send(predictions_csv(seed=2), key="key")
        page = caller.get("/competitions/toxicity/leaderboard")
        assert (upload.status, page.status) == (503, 503)
        assert upload.data["error"] == "database_unavailable"
        assert "Idempotency-Key" in upload.data["message"]
        assert b"The database is not responding" in page.data
        assert {int(answer.headers["Retry-After"]) for answer in (upload, page)} == {5}
        assert (caller.get("/readyz").status, caller.get("/healthz").status) == (503, 503)
        assert caller.get("/livez").data == {"status": "alive"}  # A restart would not help.
        own_postgresql.start()
        eventually(lambda: caller.send(predictions_csv(seed=2), key="key").status == 201)
        assert caller.get("/readyz").status == 200


class CommitCutter:
    """A proxy in front of PostgreSQL that cuts the connection at a submission's COMMIT."""

    def __init__(self, server, folder):
        folder.mkdir()
        self.folder = folder
        self._server = str(server / ".s.PGSQL.5432")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / ".s.PGSQL.5432"))
        self._listener.listen()
        self._threads: list[threading.Thread] = []
        self.cuts: str | None = None  # Either "request" or "reply".
        self.count = 0
        self._start(self._accept)

    def end(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)

    def _start(self, target, *arguments):
        self._threads.append(threading.Thread(target=target, args=arguments, daemon=True))
        self._threads[-1].start()

    def _accept(self):
        with suppress(OSError):
            while True:
                self._start(self._pass_on, self._listener.accept()[0])

    def _pass_on(self, client):
        server = socket.socket(socket.AF_UNIX)
        with client, server, suppress(ConnectionError):
            server.connect(self._server)
            has_submission = False
            while True:
                for source in select.select([client, server], [], [])[0]:
                    data = source.recv(65536)
                    if not data:
                        return
                    if source is client:
                        has_submission = has_submission or b"INSERT INTO submission " in data
                        if has_submission and b"COMMIT" in data and self.cuts:
                            self._cut(server, data)
                            return
                    (server if source is client else client).sendall(data)

    def _cut(self, server, commit):
        self.count += 1
        if self.cuts == "reply":
            server.sendall(commit)
            assert b"COMMIT" in server.recv(65536)
        self.cuts = None


@pytest.fixture
def cutter(postgresql_url, short_folder, tmp_path):
    host = make_url(postgresql_url).query.get("host")
    if not isinstance(host, str) or not host.startswith("/"):
        pytest.skip("The proxy requires PostgreSQL on a Unix socket. Unset the URL of the test database.")
    cutter = CommitCutter(Path(host), short_folder / f"cut-{tmp_path.name[-8:]}")
    yield cutter
    cutter.end()


@on_postgresql
@pytest.mark.parametrize(("lost", "status"), [("reply", 200), ("request", 201)])
def test_commit_with_an_unknown_outcome_is_resolved_by_the_same_request(
    lost, status, service, cutter, make_settings, make_app, make_token, predictions_csv, all_is_well
):
    service.competition(max_daily_submissions=5)
    url = make_url(service.settings.database()).update_query_dict({"host": str(cutter.folder)})
    through_the_cutter = SecretStr(url.render_as_string(hide_password=False))
    app = make_app(make_settings(database_url=through_the_cutter, disk_reserve_mb=0, rate_limits=False))
    content = predictions_csv()
    headers = {"Authorization": f"Bearer {make_token()}", "Idempotency-Key": "key"}

    def send():
        return app.test_client().post(ADDRESS, data={"file": (BytesIO(content), "a.csv")}, headers=headers)

    cutter.cuts = lost
    unknown = send()
    assert (unknown.status_code, unknown.json["error"]) == (503, "database_unavailable")
    assert cutter.count == 1
    with service.database.read() as session:
        assert len(session.scalars(select_rows(Submission.id)).all()) == (1 if lost == "reply" else 0)
    resolved = send()
    assert (resolved.status_code, resolved.json["limits"]["used_today"]) == (status, 1)
    all_is_well(sent={resolved.json["id"]: content})
