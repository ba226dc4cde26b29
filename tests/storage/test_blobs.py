"""Blob references, missing blobs, and deletion of orphans."""

import hashlib
import os
import re
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import JSON, select

from grader import db
from grader.models import Competition, OrganizerJob, OrganizerJobKind
from grader.models.base import Base
from grader.services.competitions import acting, lookup
from grader.services.site import organizer_jobs
from grader.services.site.log import Actor
from grader.services.solutions import data_files as files
from grader.storage import blobs
from grader.storage.blobs import SuspiciousStorage
from grader.storage.stores import BlobMissing
from tests.fixtures.patience import HANG_SECONDS

COLUMNS = (*blobs.REQUIRED, *blobs.MENTIONED)
# Columns of JSON that contain no name of a blob.
NAME_NO_BLOB = {
    "data_file.allowed": "words",
    "data_file.findings": "sentences, and the hash of the file's own bytes",
    "api_token.scopes": "words",
    "audit_entry.before": "former values",
    "audit_entry.after": "new values",
    "announcement.formatted": "HTML",
    "audit_entry.times": "names of fields",
    "competition.formatted": "HTML",
    "organizer_job.progress": "numbers",
    "organizer_job.problems": "sentences",
    "score.counts": "numbers",
    "score.errors": "numbers",
    "score.groups": "numbers",
    "score.terms": "numbers",
    "scoring_job.problems": "sentences",
    "scoring_job.notes": "sentences",
    "solution.report": "counts",
    "submission.problems": "sentences",
    "submission.notes": "sentences",
    "user_account.unwanted_notices": "words",
    "roster_entry.original": "headings and cells",
}


def test_every_column_that_could_reference_a_blob_is_listed():
    columns = [column for table in Base.metadata.sorted_tables for column in table.columns]
    could = {str(column) for column in columns if isinstance(column.type, JSON)}
    could |= {
        str(column)
        for column in columns
        if column.name.endswith("sha256") and not re.match("token|code|link", column.name)
    }
    known = {_column(each) for each in COLUMNS}
    assert could - known == set(NAME_NO_BLOB), "Add new columns to grader.storage.blobs or to NAME_NO_BLOB."


def test_every_stored_blob_is_referenced_in_a_listed_column(service):
    competition = service.competition()
    service.score(service.submit(competition))
    stored = {blob.sha256 for blob in service.storage.blobs()}
    with service.database.read() as session:
        places = {
            str(column)
            for table in Base.metadata.sorted_tables
            for column in table.columns
            for value in session.scalars(select(column))
            if stored.intersection(blobs.names_in(value))
        }
        assert places <= {_column(each) for each in COLUMNS}
        assert stored <= blobs.named(session)


def test_names_are_found_at_any_depth():
    name = "ab" * 32
    assert list(blobs.names_in({"file": {"sha256": name}, "more": [1, None, [name]]})) == [name, name]
    assert list(blobs.names_in({"digest": name.upper(), "text": f"{name} and more", name: 1})) == []


@pytest.mark.both_databases
def test_only_old_unreferenced_blobs_are_deleted(service):
    accepted = service.submit(service.competition())
    kept = {blob.sha256 for blob in service.storage.blobs()}
    young, old = service.storage.put(b"young").sha256, service.storage.put(b"old").sha256
    _age(service, *kept, old)
    collected = blobs.collect(service.database, service.storage)
    assert [each.size for each in collected] == [3]
    assert {blob.sha256 for blob in service.storage.blobs()} == kept | {young}
    with service.database.write() as session, pytest.raises(BlobMissing):
        blobs.hold(session, storage=service.storage, sha256=old)
    service.score(accepted)


def test_blobs_of_organizers_jobs_are_kept(service):
    competition = service.competition()
    asked, result = service.storage.put(b"asked").sha256, service.storage.put(b"found").sha256
    with service.database.write() as session:
        job = organizer_jobs.add(
            session,
            competition=competition,
            kind=OrganizerJobKind.CHECK,
            parameters={"file": {"sha256": asked}},
            now=service.now,
        )
        session.get_one(OrganizerJob, job.id).result = {"parts": [{"changes_sha256": result}]}
    _age(service, asked, result)
    assert not blobs.collect(service.database, service.storage)


def test_metric_files_of_drafts_and_scoring_versions_are_kept_and_required(service):
    competition = service.competition()
    names = [service.storage.put(source).sha256 for source in (b"def score", b"def grade", b"def rows")]
    with service.database.write() as session:
        competition = session.get_one(Competition, competition.id)
        competition.draft_metric = {"metric": {"name": "python", "source": names[0]}}
        version = lookup.live(competition)
        version.metric_settings = {**version.metric_settings, "source": names[1]}
    _age(service, *names)
    blobs.collect(service.database, service.storage, is_sure=True)
    assert [service.storage.exists(name) for name in names] == [True, True, False]
    service.storage.delete(names[1])
    with service.database.read() as session:
        stored = {blob.sha256 for blob in service.storage.blobs()}
        assert set(names[:2]) <= blobs.required(session)
        assert [each.row for each in blobs.missing(session, stored=stored)] == [
            f"scoring version {version.id}"
        ]


def test_bytes_of_a_removed_data_file_are_deleted_by_the_next_collection(service):
    competition, blob = service.competition(), service.storage.put(b"id\n1\n")
    who = {"actor": Actor(None, "tests"), "now": service.now}
    with service.database.write() as session:
        files.add(session, competition=competition, name="test.csv", blob=blob, **who)
    _age(service, blob.sha256)
    assert not blobs.collect(service.database, service.storage)
    with service.database.write() as session:
        files.remove(acting.begin(session, competition=competition, **who), name="test.csv")
    assert len(blobs.collect(service.database, service.storage)) == 1


@pytest.mark.both_databases
def test_blob_held_just_before_its_deletion_is_kept(service, monkeypatch):
    """Upload the same bytes again after the collector has found their blob to be an orphan."""
    sha256 = service.storage.put(b"same").sha256
    _age(service, sha256)
    orphans, held = blobs.orphans, threading.Event()

    def find_then_be_overtaken(*arguments, **options):
        listed = orphans(*arguments, **options)
        threading.Thread(target=touch).start()
        assert held.wait(HANG_SECONDS)
        return listed

    def touch():
        with service.database.write() as session:
            blobs.hold(session, storage=service.storage, sha256=sha256)
            held.set()

    monkeypatch.setattr(blobs, "orphans", find_then_be_overtaken)
    assert not blobs.collect(service.database, service.storage)
    assert service.storage.read(sha256) == b"same"


@pytest.mark.both_databases
def test_collector_waits_for_the_transaction_that_references_a_blob(service):
    competition, blob = service.competition(), service.storage.put(b"id\n1\n")
    _age(service, blob.sha256)
    ended: list[int] = []

    def collect():
        ended.append(len(blobs.collect(service.database, service.storage)))

    collector = threading.Thread(target=collect)
    with service.database.write() as session:
        blobs.hold(session, storage=service.storage, sha256=blob.sha256)
        # Without the lock, the collector would delete this blob.
        _age(service, blob.sha256)
        collector.start()
        time.sleep(0.3)
        assert not ended
        who = {"actor": Actor(None, "tests"), "now": service.now}
        files.add(session, competition=competition, name="test.csv", blob=blob, **who)
    collector.join(HANG_SECONDS)
    assert ended == [0]


def test_upload_whose_old_bytes_are_collected_concurrently_is_stored_again(arena, monkeypatch):
    arena.competition()
    ann, holds, hold = arena.person("Ann"), [], blobs.hold

    def collected_before(session, *, storage, sha256: str):
        if not holds:
            storage.delete(sha256)
        holds.append(sha256)
        hold(session, storage=storage, sha256=sha256)

    monkeypatch.setattr(blobs, "hold", collected_before)
    arena.submit(ann, arena.truth.predictions())
    assert len(holds) == 2 and arena.storage.exists(holds[0])


def test_storage_of_mostly_orphans_is_not_emptied_without_confirmation(service):
    orphans = [service.storage.put(bytes([number])).sha256 for number in range(30)]
    _age(service, *orphans)
    with pytest.raises(SuspiciousStorage, match="30 of 30 blobs are unreferenced"):
        blobs.collect(service.database, service.storage)
    assert len(blobs.collect(service.database, service.storage, is_sure=True)) == 30


def test_row_without_its_blob_is_reported(service):
    accepted = service.submit(service.competition())
    sha256 = accepted.submission.sha256
    service.storage.delete(sha256)
    with service.database.read() as session:
        stored = {blob.sha256 for blob in service.storage.blobs()}
        (missing,) = blobs.missing(session, stored=stored)
    assert (missing.sha256, missing.row) == (sha256, f"submission {accepted.submission.id}")


def _column(attribute):
    return f"{attribute.class_.__tablename__}.{attribute.key}"


def _age(service, *names):
    with service.database.read() as session:
        then = (db.now(session) - timedelta(hours=25)).timestamp()
    for sha256 in names:
        path: Path = next((service.settings.data_dir / "blobs").rglob(sha256))
        os.utime(path, (then, then))
        assert hashlib.sha256(path.read_bytes()).hexdigest() == sha256
