"""Full disk, and order of disk writes before an upload's response."""

import re
import shutil
import subprocess
import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pytest

from grader.worker.scorer import Scorer
from tests.fixtures.patience import HANG_SECONDS
from tests.fixtures.programs import find_program
from tests.fixtures.web import BOUNDARY, form

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
ADDRESS = "/api/v1/competitions/toxicity/submissions"
DISK_BYTES = 6_000_000


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 6 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("Cannot mount a small disk. Run this test as root on a system that permits mounts.")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


class TestFullDisk:
    """Uploads are rejected, reads still work, and the service recovers without a restart."""

    @pytest.fixture(params=["blobs", "database", "spool"])
    def volume(self, request):
        """The kind of data that is stored on the small disk."""
        return str(request.param)

    @pytest.fixture
    def database_url(self, volume, small_disk, tmp_path, migrated_sqlite):
        folder = small_disk if volume == "database" else tmp_path
        shutil.copyfile(migrated_sqlite, folder / "fairboard.db")
        return f"sqlite:///{folder / 'fairboard.db'}"

    @pytest.fixture
    def settings(self, make_settings, volume, small_disk, tmp_path):
        blobs = (small_disk if volume == "blobs" else tmp_path) / "blobs"
        return make_settings(storage_url=blobs.as_uri(), disk_reserve_mb=0, rate_limits=False)

    def test_full_disk_rejects_uploads_but_serves_leaderboards_and_recovers(
        self, service, volume, small_disk, make_app, make_token, predictions_csv, all_is_well, monkeypatch
    ):
        competition = service.competition(max_daily_submissions=9)
        earlier = service.submit(competition)
        service.score(earlier)
        app = make_app(service.settings)
        if volume == "spool":
            monkeypatch.setattr(tempfile, "tempdir", str(small_disk))
        # More than the part of an upload that is kept in memory.
        content = predictions_csv(seed=2) + b"\n" * 600_000
        headers = {"Authorization": f"Bearer {make_token()}", "Idempotency-Key": "key"}

        def send():
            return app.test_client().post(
                ADDRESS,
                data=form(content),
                headers=headers,
                content_type=f"multipart/form-data; boundary={BOUNDARY}",
            )

        _fill(small_disk)
        before = _files(small_disk)
        answer = send()
        assert (answer.status_code, answer.json["error"]) == (507, "no_space")
        assert _files(small_disk) == before
        for path in ("/competitions/toxicity/leaderboard", "/api/v1/competitions/toxicity/leaderboard"):
            assert app.test_client().get(path, headers=headers).status_code == 200
        own = app.test_client().get(f"/api/v1/submissions/{earlier.submission.id}", headers=headers)
        assert (own.status_code, own.json["status"]) == (200, "scored")
        (small_disk / "filler").unlink()
        answer = send()
        assert (answer.status_code, answer.json["limits"]["used_today"]) == (201, 1)
        app.extensions["fairboard"].database.dispose()
        all_is_well(earlier, sent={answer.json["id"]: content})
        service.database.dispose()


@on_sqlite
def test_full_cache_disk_changes_no_score(service, make_settings, small_disk, all_is_well):
    accepted = service.submit(service.competition())
    _fill(small_disk)
    scorer = Scorer.of(make_settings(cache_dir=small_disk / "cache"))
    assert scorer.run(*accepted.job_ids)
    all_is_well(accepted)


def _fill(disk):
    with (disk / "filler").open("wb", buffering=0) as filler, suppress(OSError):
        while True:
            filler.write(b"\0" * 4096)
    with suppress(OSError):
        (disk / "one more").touch()
        (disk / "one more").unlink()
    assert shutil.disk_usage(disk).free < 4096


def _files(disk):
    """Return the files on the disk, except SQLite's, which change during the test."""
    return {path for path in disk.rglob("*") if path.is_file() and ".db" not in path.name}


TRACED = "fsync,fdatasync,rename,renameat,renameat2,pwrite64,write,sendto"
CALL = re.compile(r"(?:\d+ +)?(\w+)\((.*)")


@on_sqlite
def test_everything_is_on_disk_before_the_response_to_an_upload(
    service, make_web, make_settings, make_token, predictions_csv, tmp_path,
    eventually
):  # fmt: skip
    program = find_program("strace", command="apt-get install strace")
    service.competition()
    service.database.dispose()
    web = make_web(make_settings(web_workers=1, web_threads=2, disk_reserve_mb=0))
    caller = web.caller(make_token())
    [worker] = web.workers(web.start())
    assert caller.send(predictions_csv(seed=1)).status == 201  # By now, all files and connections are open.
    log = tmp_path / "strace"
    strace = subprocess.Popen(
        [program, "-f", "-y", "-s", "40", "-e", f"trace={TRACED}", "-o", str(log), "-p", str(worker.pid)],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert strace.stderr is not None
    try:
        if "attached" not in (said := strace.stderr.readline()):
            pytest.skip(f"Cannot trace processes: {said.strip()}")
        eventually(lambda: _is_traced(worker.pid))
        content = predictions_csv(seed=2)
        answer = caller.send(content)
        assert answer.status == 201
    finally:
        strace.terminate()
        strace.wait(HANG_SECONDS)
        strace.stderr.close()
    calls = [match.groups() for line in log.read_text().splitlines() if (match := CALL.match(line))]
    name = sha256(content).hexdigest()
    blobs = str(service.settings.data_dir / "blobs")
    answered = _first(calls, "sendto", "201 CREATED")
    draft_synced = _first(calls, "fsync", f"{blobs}/drafts/")
    named = _first(calls, "rename", f"{blobs}/{name[:2]}/{name}")
    folder_synced = _first(calls, "fsync", f"{blobs}/{name[:2]}>")
    root_synced = _first(calls, "fsync", f"{blobs}>")
    row_written = _last(calls[:answered], "pwrite64", "fairboard.db-wal")
    row_synced = max(_last(calls[:answered], sync, "fairboard.db-wal") for sync in ("fsync", "fdatasync"))
    order = [draft_synced, named, folder_synced, root_synced, row_written, row_synced, answered]
    assert order == sorted(order) and order[0] >= 0, (order, calls)


def _is_traced(pid):
    return all(
        "TracerPid:\t0\n" not in (thread / "status").read_text()
        for thread in Path(f"/proc/{pid}/task").iterdir()
    )


def _first(calls, call, part):
    return next(place for place, (name, rest) in enumerate(calls) if name.startswith(call) and part in rest)


def _last(calls, call, part):
    found = (place for place, (name, rest) in enumerate(calls) if name == call and part in rest)
    return max(found, default=-1)
