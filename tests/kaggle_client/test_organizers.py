"""Organizers' kaggle commands, from an empty site to a launched competition."""

import csv
import json

import pytest

from grader import db
from grader.services.competitions import lookup, phases
from grader.services.jobs import organizer_jobs
from grader.visibility import Phase
from grader.worker.organizer_jobs.worker import OrganizerWorker
from tests.kaggle_client.conftest import Desk, Hall

SLUG = "my-comp"


@pytest.fixture(scope="module")
def root(hall: Hall) -> Desk:
    """An administrator with a draft that has data and a solution."""
    hall.arena.person("Edda")
    root = hall.desk("Root", is_admin=True)
    root.write(
        "competition-metadata.json",
        json.dumps(
            {"title": "My competition", "slug": SLUG, "briefDescription": "About it.", "privacy": "PUBLIC"}
        ).encode(),
    )
    assert f"/competitions/{SLUG}/organize" in root.ok("competitions", "create", "-p", ".")
    return root


def test_a_competition_is_created_filled_launched_and_tested(root: Desk, hall: Hall):
    told = root.run("competitions", "launch", SLUG)
    assert told.code == 1
    assert "No solution has been accepted." in told.err
    root.write("data/train.csv", b"id,text\n1,a\n")
    root.ok("competitions", "data", "update", SLUG, "-p", "data", "-m", "first", "-q")
    root.write("data/extra.csv", b"id\n1\n")
    (root.folder / "data" / "train.csv").unlink()
    root.ok("competitions", "data", "update", SLUG, "-p", "data", "-m", "second", "-q")
    assert "extra.csv" in root.ok("competitions", "files", SLUG)
    root.write("solution.csv", hall.arena.truth.solution())
    root.ok("competitions", "solution", "create", SLUG, "-p", "solution.csv")
    work(hall)
    told = root.ok("competitions", "solution", "status", SLUG)
    assert "Ready: true" in told
    refused = root.run("competitions", "launch", SLUG)
    assert "extra.csv is still being checked" in refused.err
    work(hall)
    for at in ("2098-01-01T00:00:00Z", "2098-01-02T00:00:00Z"):
        root.ok("competitions", "launch", SLUG, "--at", at)
        with hall.arena.database.read() as session:
            scheduled = lookup.get(session, slug=SLUG)
            assert f"{scheduled.opens_at:%Y-%m-%dT%H:%M:%SZ}" == at
            assert phases.phase(scheduled, db.now(session)) is Phase.SCHEDULED
    root.ok("competitions", "launch", SLUG)
    with hall.arena.database.read() as session:
        assert phases.phase(lookup.get(session, slug=SLUG), db.now(session)) is Phase.OPEN
    assert root.run("competitions", "launch", SLUG).code == 1
    root.write("sub.csv", hall.arena.truth.predictions(noise=1.5, seed=1))
    told = root.ok("competitions", "submit", SLUG, "-f", "sub.csv", "-m", "test", "--sandbox", "-q")
    assert "as test submission #" in told
    (line,) = [
        line
        for line in csv.DictReader(root.ok("competitions", "submissions", SLUG, "-v").splitlines())
        if line["fileName"] == "sub.csv"
    ]
    assert line["status"] == "SubmissionStatus.COMPLETE"


def test_settings_are_read_and_changed(root: Desk):
    root.write("s.json", json.dumps({"title": "Second title", "deadline": "2099-01-01T00:00:00Z"}).encode())
    root.ok("competitions", "settings", "update", SLUG, "-f", "s.json")
    told = json.loads(root.ok("competitions", "settings", "get", SLUG, "--json", "-q"))
    assert told["title"] == "Second title"
    assert told["deadline"].startswith("2099-01-01T00:00:00")
    root.write("s.json", json.dumps({"hasScripts": True}).encode())
    told_no = root.run("competitions", "settings", "update", SLUG, "-f", "s.json")
    assert told_no.code == 1
    assert "hasScripts cannot be set with this command." in told_no.err


def test_only_organizers_can_list_hosts(root: Desk, hall: Hall):
    assert "Root" in root.ok("competitions", "hosts", SLUG)
    told = hall.desk("Eve").run("competitions", "hosts", SLUG)
    assert told.code == 1
    assert "There is no competition" in told.err or "Only organizers" in told.err


def work(hall: Hall):
    """Run the pending organizer jobs."""
    arena = hall.arena
    worker = OrganizerWorker(arena.settings, arena.database, arena.storage)
    with arena.database.read() as session:
        waiting = organizer_jobs.waiting(session, limit=9, now=arena.now())
    for job_id in waiting:
        worker.run(job_id)
