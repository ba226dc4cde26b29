"""Fair play job: stored ranks, restarts, pending and unreadable files."""

from datetime import timedelta

import numpy as np
import pytest

from grader.models import JobState, OrganizerJob
from grader.services.audit.log import Actor
from grader.services.fair_play import report
from grader.services.fair_play.report import Report
from grader.worker.organizer_jobs import fair_play
from grader.worker.organizer_jobs.worker import OrganizerWorker

ROWS = 400


def file_of(values) -> bytes:
    lines = ["id,prediction", *(f"r{row},{value!r}" for row, value in enumerate(np.asarray(values).tolist()))]
    return "\n".join(lines).encode()


@pytest.fixture
def competition(service):
    """Five teams; the last team's file is still pending and has the same order as the first team's."""
    competition = service.competition()
    generator = np.random.default_rng(5)
    drawn = generator.normal(size=(4, ROWS))
    for name, values in zip(("ada", "bob", "cyd", "dan"), drawn, strict=True):
        service.score(service.submit(competition, user=name, csv=file_of(values)))
    service.submit(competition, user="eve", csv=file_of(np.exp(drawn[0])))
    return competition


def requested(service, competition) -> OrganizerJob:
    with service.database.write() as session:
        return report.request(session, competition=competition, actor=Actor.shell(), now=service.now)


def done(service, job: OrganizerJob) -> Report:
    OrganizerWorker(service.settings, service.database, service.storage).run(job.id)
    with service.database.read() as session:
        job = session.get_one(OrganizerJob, job.id)
    assert job.state is JobState.DONE
    return Report.from_dict(job.result)


def test_copy_of_another_teams_file_is_found_while_pending(service, competition):
    found = done(service, requested(service, competition))
    assert (found.file_count, found.team_count, found.unread_count, found.older_count) == (5, 5, 0, 0)
    [pair] = found.pairs
    assert pair.has_same_order and not pair.has_same_bytes


def test_kept_ranks_replace_reading_files(service, competition):
    expected = done(service, requested(service, competition))
    with service.database.read() as session:
        found, _ = report.newest_files(session, competition=competition, rows=ROWS)
    for file in found:
        service.storage.delete(file.sha256)
    assert done(service, requested(service, competition)) == expected


def test_unreadable_files_are_counted_and_omitted(service, competition, monkeypatch: pytest.MonkeyPatch):
    service.submit(competition, user="fay", csv=b"id,prediction\nr0,nan\n")
    found = done(service, requested(service, competition))
    assert (found.file_count, found.unread_count, len(found.pairs)) == (5, 1, 1)
    for kept in (service.settings.cache() / "ranks").rglob("*-*"):
        kept.unlink()
    monkeypatch.setattr(fair_play, "READING_SECONDS", -1)
    assert done(service, requested(service, competition)).unread_count == 6


def test_only_the_newest_files_are_examined(service, competition, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(report, "MAX_FILES", 3)
    found = done(service, requested(service, competition))
    assert (found.file_count, found.older_count, found.pairs) == (3, 2, [])


def test_team_with_more_files_than_fit_in_memory_is_examined(service, competition):
    generator = np.random.default_rng(6)
    for number in range(fair_play.KEPT_ORDERS + 8):
        file = file_of(generator.normal(size=ROWS))
        service.submit(competition, user="bob", csv=file, after=timedelta(minutes=number + 1))
    found = done(service, requested(service, competition))
    assert (found.file_count, found.unread_count) == (fair_play.KEPT_ORDERS + 13, 0)


def test_report_of_an_earlier_version_is_readable(service, competition):
    found = done(service, requested(service, competition))
    stored = found.as_dict() | {"canaries": {"rows": 40, "followers": []}}
    evidence = {"distinct": 9, "largest_tie": 0.5, "best_id": 1, "best_correlation": 0.0, "block": None}
    file = {"submission_id": 2, "signs": ["unlike_best"], "rows": 400, "lone_levels": 0, "auc": 0.9}
    file |= {"nearest_id": 1, "moved": 399} | evidence
    stored["teams"] = [{"team_id": 1, "file_count": 9, "sign_count": 5, "files": [file]}]
    stored["pairs"][0] |= {"third_id": None, "correlation": 1.0, "moved": 0, "points": [[3, 3]]}
    read = Report.from_dict(stored)
    assert read.pairs == found.pairs and read.teams[0].files[0].signs == ("unlike_best",)
