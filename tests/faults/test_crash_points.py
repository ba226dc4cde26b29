"""Crash points: documented modules, no effect by default."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from grader.crash_points import EXIT_CODE, POINTS, VARIABLE, reach

HOUSE = Path(__file__).parents[2]
# The module that reaches each point, and the state at that time.
REACHED_IN = {
    "blob.before_rename": (
        "grader/storage/stores.py",
        "A blob is written and synced, but not yet renamed to its final name.",
    ),
    "accept.after_blob": (
        "webapp/submissions/uploads.py",
        "An upload's blob is stored; no row refers to it.",
    ),
    "accept.before_commit": (
        "webapp/submissions/uploads.py",
        "The submission and its jobs are written but not committed.",
    ),
    "accept.after_commit": (
        "webapp/submissions/uploads.py",
        "The submission and its jobs are committed; no hint was sent.",
    ),
    "accept.before_response": (
        "webapp/submissions/uploads.py",
        "The hint was sent; the client has no response yet.",
    ),
    "claim.before_commit": (
        "grader/worker/scorer.py",
        "A job is claimed, but the claim is not committed.",
    ),
    "claim.after_commit": (
        "grader/worker/scorer.py",
        "A job is claimed, but nothing is computed.",
    ),
    "record.before_commit": (
        "grader/worker/scorer.py",
        "Scores, status and standing are written but not committed.",
    ),
    "record.after_commit": (
        "grader/worker/scorer.py",
        "The result is committed; the queue's message is not acknowledged.",
    ),
    "batch.after_claim": (
        "grader/worker/scorer.py",
        "A batch of a rescoring is claimed, but nothing is computed.",
    ),
    "batch.before_commit": (
        "grader/worker/scorer.py",
        "The results of a batch are written but not committed.",
    ),
    "batch.after_commit": (
        "grader/worker/scorer.py",
        "The results of a batch are committed; no hint was sent.",
    ),
    "rescoring.before_commit": (
        "grader/services/rescoring/preparation.py",
        "A scoring version and its jobs are written but not committed.",
    ),
    "publish.before_commit": (
        "grader/services/rescoring/publication.py",
        "A publication or rollback has written everything, but nothing is committed.",
    ),
    "data_check.before_record": (
        "grader/worker/organizer_jobs/checks.py",
        "A data file was checked, but the result is not written.",
    ),
    "organizer_job.after_claim": (
        "grader/worker/organizer_jobs/worker.py",
        "An organizer's job is claimed, but nothing is done.",
    ),
    "organizer_job.after_keep": (
        "grader/worker/organizer_jobs/worker.py",
        "An organizer's job has stored some of its results.",
    ),
    "organizer_job.before_commit": (
        "grader/worker/organizer_jobs/worker.py",
        "The result of an organizer's job is written but not committed.",
    ),
    "organizer_job.after_commit": (
        "grader/worker/organizer_jobs/worker.py",
        "The result of an organizer's job is committed.",
    ),
    "backup.after_begin": (
        "grader/maintenance/backups.py",
        "A backup has the lock but has copied nothing.",
    ),
    "backup.after_tables": (
        "grader/maintenance/backups.py",
        "The tables are in the temporary folder; the store is unchanged.",
    ),
    "backup.after_object": (
        "grader/maintenance/backups.py",
        "An object is stored; no record lists it.",
    ),
    "backup.before_record": (
        "grader/maintenance/backups.py",
        "All objects of a backup are stored, but not its record.",
    ),
    "backup.after_record": (
        "grader/maintenance/backups.py",
        "A backup is complete, but its run is not recorded.",
    ),
    "restore.before_commit": (
        "grader/maintenance/backups.py",
        "All rows of a backup are restored, but nothing is committed.",
    ),
    "prune.after_record": (
        "grader/maintenance/backups.py",
        "The record of an old backup is deleted, but not its objects.",
    ),
    "prune.after_object": (
        "grader/maintenance/backups.py",
        "One of several unneeded objects is deleted.",
    ),
}
REACHED = re.compile(r'\breach(?:\(|ed=)"([^"]+)"')
COMES_TWICE = "from grader.crash_points import reach; [reach('claim.after_commit') for _ in range(2)]"


def run(program: str, *, crash_at: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {VARIABLE: crash_at}
    return subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )


def test_every_point_is_reached_once_in_its_listed_module():
    found = [
        (name, file.relative_to(HOUSE).as_posix())
        for package in ("grader", "webapp", "migrations")
        for file in (HOUSE / package).rglob("*.py")
        for name in REACHED.findall(file.read_text())
    ]
    assert sorted(found) == sorted((name, file) for name, (file, _) in REACHED_IN.items())
    assert REACHED_IN.keys() == POINTS


def test_every_point_is_used_by_a_test():
    others = [file for file in Path(__file__).parent.glob("test_*.py") if file != Path(__file__)]
    tests = "".join(file.read_text() for file in others)
    assert [name for name in sorted(POINTS) if f'"{name}"' not in tests] == []


def test_points_do_nothing_by_default(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    reach("claim.after_commit")
    monkeypatch.setenv(VARIABLE, "record.after_commit")
    reach("claim.after_commit")


def test_process_ends_at_the_requested_point():
    assert run(COMES_TWICE, crash_at="claim.after_commit").returncode == EXIT_CODE
    assert run(COMES_TWICE, crash_at="claim.after_commit:2").returncode == EXIT_CODE
    assert run(COMES_TWICE, crash_at="claim.after_commit:3").returncode == 0


def test_unknown_point_is_rejected():
    refused = run(COMES_TWICE, crash_at="claim.after_comit")
    assert refused.returncode == 1
    assert "contains an unknown crash point: 'claim.after_comit'" in refused.stderr
