"""Data file checks: triggers, held-back files, releases by organizers."""

import io
from datetime import timedelta

import pandas as pd
import pytest
from sqlalchemy import select, update

from grader import db
from grader.files import read_solution
from grader.models import (
    AuditEntry,
    DataCheckState,
    DataFile,
    JobState,
    Mail,
    OrganizerJob,
    OrganizerJobKind,
    Role,
)
from grader.services.competitions import acting, drafts, lifecycle, lookup, organizers
from grader.services.competitions.settings_model import CompetitionSettings
from grader.services.rescoring import preparation, versions
from grader.services.site.log import Actor
from grader.services.solutions import data_checks as checks
from grader.services.solutions import data_files, publication
from grader.storage.stores import StorageUnavailable
from grader.worker.organizer_jobs.worker import run_job
from tests.fixtures import rescorings, stored_solutions
from tests.fixtures.refusals import refused

SHELL = Actor(None, "shell (tests)")
on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
def table(solution_csv):
    """The solution of the fixture `service`, with its rows in another order."""
    return pd.read_csv(io.BytesIO(solution_csv()), dtype=str).sample(frac=1, random_state=1)


@pytest.fixture
def clean(table):
    """A file without any hidden values."""
    return csv(table[["id"]].assign(text="hello"))


def csv(table):
    return str(table.to_csv(index=False)).encode()


def add(service, competition, data, name="test.csv"):
    blob = service.storage.put(data)
    service.act(data_files.add, competition=competition, name=name, blob=blob, actor=SHELL)


def jobs(service):
    with service.database.read() as session:
        kind = OrganizerJob.kind == OrganizerJobKind.DATA
        return list(session.scalars(select(OrganizerJob).where(kind).order_by(OrganizerJob.id)))


def work(service):
    """Run the waiting jobs."""
    for job in jobs(service):
        run_job(service.settings, service.database, service.storage, job.id)


def file(service, competition, name="test.csv"):
    with service.database.read() as session:
        return data_files.get(session, competition=competition, name=name)


def allow(service, competition, **options):
    service.act(data_files.allow, competition=competition, name="test.csv", actor=SHELL, **options)


def audited(service, action):
    with service.database.read() as session:
        return list(session.scalars(select(AuditEntry).where(AuditEntry.action == action)))


def test_solution_as_a_data_file_is_never_released(service, table):
    competition = service.competition()
    service.verify_addresses("ada")
    editor = {"user": service.user("ada"), "role": Role.EDITOR}
    service.act(organizers.add, competition=competition, actor=SHELL, **editor)
    table.columns = [f"c{number}" for number in range(table.shape[1])]
    add(service, competition, csv(table))
    assert file(service, competition).check_state is DataCheckState.WAITING
    with refused("being_checked"):
        data_files.require_given_out(competition, file(service, competition))
    work(service)
    found = file(service, competition)
    assert found.check_state is DataCheckState.HELD
    with refused("being_checked"):
        data_files.require_given_out(competition, found)
    kinds = {(each["kind"], each["name"]) for each in found.findings["disclosures"]}
    assert {("label", "toxicity"), ("identity", "female"), ("Usage", "Usage")} <= kinds
    (entry,) = audited(service, "data.hold")
    assert any("agrees with the label toxicity" in sentence for sentence in entry.after["discloses"])
    with service.database.read() as session:
        assert [mail.to_address for mail in session.scalars(select(Mail))] == ["ada@example.org"]


@on_sqlite
def test_single_column_is_held_back_until_its_release(service, table):
    competition = service.competition()
    add(service, competition, csv(table[["Usage", "id"]].rename(columns={"Usage": "x"})))
    work(service)
    found = checks.findings_of(file(service, competition))
    assert "decide the final standings" in found.consequence
    allow(service, competition, reason="They are in the text anyway.")
    assert data_files.is_given_out(competition, file(service, competition))
    (entry,) = audited(service, "data.allow")
    assert entry.after["discloses"] == list(found.discloses)
    assert entry.reason == "They are in the text anyway."
    with refused("not_held"):
        allow(service, competition)


@on_sqlite
def test_confirmation_covers_only_the_same_findings(service, table):
    competition = service.competition()
    add(service, competition, csv(table[["id", "muslim"]]))
    work(service)
    allow(service, competition)
    with service.database.write() as session:
        session.execute(update(DataFile).values(check_key=None))
        checks.request(session, competition=competition, now=service.now)
    work(service)
    assert file(service, competition).check_state is DataCheckState.ALLOWED
    add(service, competition, csv(table[["id", "muslim"]]))  # Another file needs a new check.
    assert not data_files.is_given_out(competition, file(service, competition))
    work(service)
    assert file(service, competition).check_state is DataCheckState.HELD


@on_sqlite
def test_unreadable_file_needs_the_organizers_confirmation(service):
    competition = service.competition()
    add(service, competition, b"\x89PNG\0\0")
    work(service)
    found = checks.findings_of(file(service, competition))
    assert len(found.unopened) == 1 and found.unopened[0].startswith("test.csv was not checked: reading")
    assert not data_files.is_given_out(competition, file(service, competition))
    allow(service, competition)
    assert data_files.is_given_out(competition, file(service, competition))


def test_draft_with_a_held_back_or_unchecked_file_cannot_be_published(service, table, solution_csv):
    with service.database.write() as session:
        settings = CompetitionSettings(
            title="Next", contact="a@b.org", closes_at=service.now + timedelta(days=60)
        )
        draft = drafts.create(session, slug="next", settings=settings, actor=SHELL, now=service.now)
    add(service, draft, csv(table[["id", "toxicity"]]))
    assert not jobs(service)  # There are no labels to search for yet.
    stored = stored_solutions.store_new(service.storage, read_solution(solution_csv()), split_key=b"k")
    service.act(versions.set_first, competition=draft, solution=stored, actor=SHELL)

    def publish():
        service.act(lifecycle.publish, competition=draft, actor=SHELL)

    with pytest.raises(lifecycle.NotReady, match="is still being checked"):
        publish()
    work(service)
    with pytest.raises(lifecycle.NotReady, match="agrees with the label toxicity"):
        publish()
    allow(service, draft)
    publish()


def test_rescoring_checks_the_files_against_its_solution(service, solution_csv):
    competition = service.competition()
    corrected = read_solution(solution_csv(seed=2))
    table = pd.DataFrame({"id": list(corrected.row_ids), "hint": corrected.labels})
    add(service, competition, csv(table))
    work(service)
    assert data_files.is_given_out(competition, file(service, competition))
    with service.database.write() as session:
        competition = lookup.get(session, slug=competition.slug)
        live = lookup.live(competition)
        act = acting.begin(session, competition=competition, actor=SHELL, now=service.now)
        solution = stored_solutions.store_corrected(service.storage, corrected, live=live)
        version = preparation.prepare(act, solution=solution, reason="Labels were wrong.")
    # Its content has already been released.
    assert data_files.is_given_out(competition, file(service, competition))
    with refused("data_unchecked", r"test\.csv"):
        rescorings.publish(service, version)
    work(service)
    assert file(service, competition).check_state is DataCheckState.HELD
    rescorings.publish(service, version)


@on_sqlite
def test_all_files_are_released_after_the_solution_is_published(service, table):
    competition = service.competition()
    add(service, competition, csv(table))
    work(service)
    service.reveal(competition)
    with service.database.write() as session:
        publication.publish(session, competition=competition, actor=SHELL, now=service.now)
    assert data_files.is_given_out(service.reload(competition), file(service, competition))


@on_sqlite
def test_file_whose_check_fails_is_held_back_and_not_retried_forever(service):
    competition = service.competition()
    add(service, competition, b"id,text\n")
    with service.database.write() as session:
        session.execute(update(OrganizerJob).values(state=JobState.FAILED, incident="12ab"))
        assert checks.request(session, competition=competition, now=service.now) is None
    found = file(service, competition)
    assert found.check_state is DataCheckState.HELD
    assert "its check failed (incident 12ab)" in checks.findings_of(found).unopened[0]
    assert len(jobs(service)) == 1
    service.act(data_files.check_again, competition=competition, name="test.csv", actor=SHELL)
    with service.database.write() as session:
        session.execute(update(OrganizerJob).values(state=JobState.FAILED))
    add(service, competition, b"id,note\n")  # another file than that of the failed check
    work(service)
    assert file(service, competition).check_state is DataCheckState.PASSED


@on_sqlite
def test_file_replaced_during_its_check_is_checked_again(service, table, clean):
    competition = service.competition()
    add(service, competition, clean)
    add(service, competition, csv(table))
    assert len(jobs(service)) == 1
    work(service)
    assert file(service, competition).check_state is DataCheckState.HELD


def test_storage_failure_is_not_a_finding_and_the_file_is_checked_again(service, monkeypatch):
    competition = service.competition()
    add(service, competition, b"id,text\n")
    (job,) = jobs(service)

    class Stopping(io.BytesIO):
        def read(self, size=-1):
            if data := super().read(size):
                return data
            raise StorageUnavailable("It is away.")

    def run():
        with service.database.write() as session:
            session.execute(update(OrganizerJob).values(available_at=service.now, created_at=db.now(session)))
        assert run_job(service.settings, service.database, service.storage, job.id)

    with monkeypatch.context() as patch:
        open_blob, sha256 = service.storage.open, file(service, competition).sha256
        patch.setattr(
            service.storage,
            "open",
            lambda name: Stopping(b"id,text\n") if name == sha256 else open_blob(name),
        )
        # A job fails permanently after two crashes, but storage failures do not count as crashes.
        for _ in range(3):
            run()
            (waiting,) = jobs(service)
            assert (waiting.state, waiting.error_count, waiting.attempt_count) == (JobState.WAITING, 0, 0)
            found = file(service, competition)
            assert (found.check_state, found.findings) == (DataCheckState.WAITING, {})
    run()
    assert file(service, competition).check_state is DataCheckState.PASSED
