"""Draft deletion: preserved audit entries, reusable slug."""

from datetime import timedelta

import pytest
from sqlalchemy import func, select

from grader.files import read_solution
from grader.models import AuditEntry, Competition, Score, ScoringJob, ScoringVersion, Submission
from grader.models.base import Base
from grader.services.competitions import acting, announcements, drafts, lookup
from grader.services.competitions.acting import Act
from grader.services.competitions.settings_model import CompetitionSettings
from grader.services.rescoring import versions
from grader.services.site import log
from grader.services.site.log import Actor
from grader.services.solutions import check_jobs
from grader.services.solutions import data_files as files
from grader.services.solutions.check_jobs import UploadedFile
from grader.services.submissions import accepting, benchmark_entries
from grader.storage import blobs
from grader.worker.scorer import Scorer
from tests.fixtures import stored_solutions
from tests.fixtures.services import call

SHELL = Actor(None, "shell (tests)")


@pytest.fixture
def draft(service, solution_csv):
    """A draft with an owner, a solution, a waiting check, a data file and an announcement."""
    ada = service.user("ada")
    stored = stored_solutions.store_new(service.storage, read_solution(solution_csv()), split_key=b"k")
    blob = service.storage.put(b"id,text\n")
    act = {"actor": SHELL, "now": service.now}
    with service.database.write() as session:
        settings = CompetitionSettings(title="Next", rules="Be fair.")
        made = drafts.create(session, slug="next", settings=settings, owner=ada, **act)
        versions.set_first(acting.begin(session, competition=made, **act), solution=stored)
        file = UploadedFile.of("solution.csv", blob)
        check_jobs.add(Act(session, made, **act), file=file)
        files.add(session, competition=made, name="test.csv", blob=blob, **act)
        call(announcements.post, session, competition=made, title="Hello", body="Soon.", by_mail=False, **act)
    return service.reload(made)


def delete(service, competition):
    service.act(drafts.delete_draft, competition=competition, actor=SHELL)


def rows_of(session, competition):
    """Return the number of a competition's rows in each table."""
    counts = {
        table.name: session.scalar(
            select(func.count()).select_from(table).where(table.c.competition_id == competition.id)
        )
        for table in Base.metadata.tables.values()
        if "competition_id" in table.c
    }
    return {name: count for name, count in counts.items() if count}


def test_everything_of_a_draft_except_its_audit_is_deleted(service, draft):
    with service.database.read() as session:
        before = rows_of(session, draft)
        assert {"solution", "scoring_version", "organizer_job", "data_file", "organizer"} <= before.keys()
        assert blobs.named(session)
    delete(service, draft)
    with service.database.read() as session:
        assert rows_of(session, draft) == {"audit_entry": before["audit_entry"] + 1}
        assert not blobs.named(session)
        assert lookup.list_all(session) == []
        with pytest.raises(lookup.UnknownCompetition):
            lookup.get(session, slug="next")
        left = session.get_one(Competition, draft.id)
        assert (left.title, left.rules, left.live_scoring_version_id) == ("", "", None)
        entry = session.scalars(select(AuditEntry).order_by(AuditEntry.id.desc())).first()
        assert (entry.action, entry.before) == ("competition.delete", {"slug": "next", "title": "Next"})


def test_slug_of_a_deleted_draft_is_free_and_its_number_is_not(service, draft):
    delete(service, draft)
    with service.database.write() as session:
        settings = CompetitionSettings(title="Again")
        again = drafts.create(session, slug="next", settings=settings, actor=SHELL, now=service.now)
    assert again.id != draft.id
    with service.database.read() as session:
        page, _ = log.list_after(session, competition=again)
        assert [entry.action for entry in page.rows] == ["competition.create"]


@pytest.mark.parametrize("is_scored", [False, True])
def test_draft_with_a_benchmark_is_deleted_and_the_id_of_the_submission_is_not_reused(
    service, draft, predictions_csv, is_scored
):
    entered = service.act(
        benchmark_entries.add,
        competition=draft,
        blob=service.storage.put(predictions_csv()),
        file_name="baseline.csv",
        actor=Actor.of(service.user("ada")),
    )
    if is_scored:
        service.run(*entered.job_ids)
    delete(service, draft)
    if not is_scored:
        scorer = Scorer(service.database, service.storage, lease=timedelta(seconds=40))
        assert not scorer.run(*entered.job_ids)  # a worker received the hint before the deletion
    with service.database.read() as session:
        left = session.scalars(select(Submission)).one()
        assert (left.id, left.file_name, left.description) == (entered.submission.id, "", "")
        assert not blobs.named(session)
        for results in (Score, ScoringJob, ScoringVersion):
            assert session.scalars(select(results)).all() == []
        with pytest.raises(accepting.UnknownSubmission):
            accepting.open_submission(session, user=None, submission_id=left.id)


def test_concurrent_act_on_a_deleted_draft_finds_no_draft(service, draft):
    delete(service, draft)
    with service.database.write() as session, pytest.raises(lookup.UnknownCompetition):
        acting.begin(session, competition=draft, actor=SHELL, now=service.now)
