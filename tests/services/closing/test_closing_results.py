"""Results after the close: receipts, results bundle, published solution."""

import csv
import hashlib
import io
import zipfile
from datetime import timedelta

import pytest
from sqlalchemy import select

from grader.files.solution.canonical_form import commitment_to
from grader.models import (
    AuditEntry,
    OrganizerJob,
    Submission,
)
from grader.receipts import Receipt
from grader.receipts.verification import verify
from grader.services.closing import close, tables
from grader.services.competitions import acting, lookup, phases
from grader.services.site.log import Actor
from grader.services.solutions import publication
from grader.services.submissions import receipts
from grader.visibility import Phase, Viewer
from grader.worker.organizer_jobs.worker import run_job
from tests.fixtures.refusals import refused

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
LATER = timedelta(days=1)
ACTOR = Actor.shell()


@pytest.fixture
def closed(service):
    """A closed, settled competition with three teams, whose competing submissions are known."""
    competition = service.competition(closes_at=service.now + timedelta(hours=1))
    for seed, name in enumerate(("ada", "bob", "cyd")):
        for skill in (0.2, 0.5, 0.8):
            service.score(service.submit(competition, user=name, seed=seed, skill=skill))
    service.act(close.settle, competition=competition, after=LATER)
    return service.reload(competition)


def run(service, job):
    run_job(service.settings, service.database, service.storage, job.id)
    with service.database.read() as session:
        found: OrganizerJob = session.get_one(OrganizerJob, job.id)
        return found


def receipt(service, submission_id, viewer, phase):
    with service.database.read() as session:
        submission = session.get_one(Submission, submission_id)
        return receipts.visible_to(session, submission=submission, viewer=viewer, phase=phase)


def bytes_of(service, submission_id):
    with service.database.read() as session:
        data: bytes = service.storage.read(session.get_one(Submission, submission_id).sha256)
        return data


def test_organizers_receipt_is_verified_from_the_files(service, solution_csv):
    competition = service.competition()
    accepted = service.submit(competition)
    service.score(accepted)
    found = receipt(service, accepted.submission.id, Viewer.ORGANIZER, Phase.OPEN)
    checks = verify(
        Receipt.from_json(found.to_json()),
        submission=bytes_of(service, accepted.submission.id),
        solution=solution_csv(),
    )
    assert [check.what for check in checks if not check.holds] == []
    assert len(checks) > 30


@on_sqlite
def test_teams_receipt_has_hashes_and_shown_values_until_the_solution_is_published(service):
    competition = service.competition()
    accepted = service.submit(competition)
    service.score(accepted)
    submission_id = accepted.submission.id
    own = receipt(service, submission_id, Viewer.TEAM, Phase.OPEN).as_dict()
    assert set(own["splits"]) == {"public"}
    assert set(own["splits"]["public"]) == {"shown"}
    assert set(own["solution"]) == {"number", "commitment"}
    revealed = receipt(service, submission_id, Viewer.TEAM, Phase.REVEALED).as_dict()
    assert {name: set(split) for name, split in revealed["splits"].items()} == {
        "public": {"shown"},
        "private": {"shown"},
    }
    with service.database.write() as session:
        close.reveal(acting.begin(session, competition=competition, actor=ACTOR, now=service.now))
        publication.publish(session, competition=competition, actor=ACTOR, now=service.now)
    whole = receipt(service, submission_id, Viewer.TEAM, Phase.REVEALED)
    assert whole == receipt(service, submission_id, Viewer.ORGANIZER, Phase.REVEALED)
    assert whole.splits["private"].counts is not None


def bundled(service, competition):
    """Return the contents of the results bundle by file name."""
    with service.database.read() as session:
        found = lookup.get(session, slug=competition.slug)
        archive = b"".join(tables.write_bundle(session, competition=found, storage=service.storage))
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        assert files.testzip() is None
        return {name.removeprefix(f"{competition.slug}/"): files.read(name) for name in files.namelist()}


def test_bundle_contains_the_tables_and_only_a_published_solution(service, closed):
    with refused("not_revealed"):
        phases.require_revealed(closed)
    service.act(close.reveal, competition=closed, after=LATER)
    files = bundled(service, closed)
    assert [*files] == ["README.txt", "standings.csv", "scores.csv", "submissions.csv"]
    ranks = [
        (line["split"], line["rank"], line["team"])
        for line in csv.DictReader(io.StringIO(files["standings.csv"].decode()))
    ]
    assert {team for _, _, team in ranks} == {"ada", "bob", "cyd"}
    assert [rank for split, rank, _ in ranks if split == "private"] == ["1", "2", "3"]
    solution = service.reload(closed).live_scoring_version.solution
    told = b"".join(files.values()).decode()
    assert solution.commitment in told and solution.nonce not in told
    service.act(publication.publish, competition=closed, after=LATER)
    files = bundled(service, closed)
    nonce = bytes.fromhex(files["solution-nonce.txt"].decode())
    digest = hashlib.sha256(files["solution.csv"]).digest()
    assert hashlib.sha256(nonce + digest).hexdigest() == solution.commitment


@on_sqlite
def test_solution_is_published_once_after_the_reveal_and_publicly_logged(service, closed):
    with service.database.write() as session:
        with refused("not_revealed"):
            publication.publish(session, competition=closed, actor=ACTOR, now=service.now + LATER)
        with refused("solution_not_published"):
            publication.published(closed)
        close.reveal(acting.begin(session, competition=closed, actor=ACTOR, now=service.now + LATER))
        publication.publish(session, competition=closed, actor=ACTOR, now=service.now + LATER)
    competition = service.reload(closed)
    digest = publication.published(competition).digest
    assert hashlib.sha256(service.storage.read(digest)).hexdigest() == digest
    with service.database.write() as session:
        with refused("solution_published"):
            publication.publish(session, competition=competition, actor=ACTOR, now=service.now + LATER)
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "solution.publish")).one()
        assert entry.is_public
        assert commitment_to(digest, entry.after["nonce"]) == entry.after["commitment"]
        assert publication.published(competition).nonce == entry.after["nonce"]
