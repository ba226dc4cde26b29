"""Scoring with metrics written in Python: outcomes, and turns of competitions and users."""

from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy import select

from grader.models import JobState, OrganizerJobKind, Score, ScoringJob, Split, Submission, SubmissionStatus
from grader.sandbox import CallLimits, SandboxUnavailable, layers
from grader.services.competitions import lookup
from grader.services.site import organizer_jobs
from grader.services.solutions.truth import Truth
from grader.services.submissions import scoring_jobs as jobs
from grader.services.submissions import scoring_queue
from grader.worker import calculator, lanes, python_turns
from grader.worker.lanes import Turn
from grader.worker.python_turns import PythonTurns
from tests.fixtures.python_metrics import LEAKY, MEAN, use_python_metric
from tests.fixtures.service import write_predictions

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
pytestmark = [on_sqlite, pytest.mark.skipif(bool(layers().refusal), reason=str(layers().refusal))]


def job_of(service, accepted):
    with service.database.read() as session:
        return session.get_one(ScoringJob, accepted.job_ids[0])


def test_file_is_scored_in_the_sandbox(service):
    service.score(service.submit(use_python_metric(service, service.competition(), MEAN)))
    with service.database.read() as session:
        scores = {each.split: each for each in session.scalars(select(Score))}
        solution = lookup.live(lookup.get(session, slug="toxicity")).solution
    truth = Truth.from_bytes(service.storage.read(solution.prepared_sha256))
    assert set(scores) == set(Split)
    assert 0 < scores[Split.PUBLIC].score < np.mean(truth.labels[truth.rows(Split.PUBLIC)])
    assert scores[Split.PUBLIC].evidence["sandbox"] == list(layers().in_force)
    assert "numpy" in scores[Split.PUBLIC].evidence["packages"]


def test_message_of_the_checker_rejects_the_file_and_uses_no_slot(service):
    competition = use_python_metric(service, service.competition(), MEAN)
    csv = write_predictions()
    head, row, rest = csv.decode().split("\n", 2)
    accepted = service.submit(competition, csv=f"{head}\n{row.split(',')[0]},2.0\n{rest}".encode())
    service.score(accepted)
    submission = service.submission(accepted)
    assert (submission.status, submission.slot_day) == (SubmissionStatus.REJECTED, None)
    (problem,) = submission.problems
    assert (problem["code"], problem["message"]) == ("metric_refuses", "Predictions must not exceed 1.5.")


def test_failed_metric_uses_a_slot_is_not_retried_and_shows_its_output_only_to_organizers(service):
    competition = service.competition()
    with service.database.read() as session:
        solution = lookup.live(lookup.get(session, slug=competition.slug)).solution
    truth = Truth.from_bytes(service.storage.read(solution.prepared_sha256))
    labels = truth.labels[truth.rows(Split.PUBLIC)][:8].tolist()
    accepted = service.submit(use_python_metric(service, competition, LEAKY.format(labels=labels)))
    service.score(accepted)
    submission = service.submission(accepted)
    assert submission.status is SubmissionStatus.FAILED
    assert (submission.slot_day, submission.incident) == (service.now.date(), None)
    assert [each["message"] for each in submission.problems] == ["The metric raises an error."]
    assert "labels" not in str(submission.problems)
    with service.database.read() as session:
        assert f"labels: {labels}" in jobs.metric_log(session, session.get_one(Submission, submission.id))
    with service.database.write() as session:
        assert not scoring_queue.retry_failed(session, now=service.now + timedelta(hours=2))


def test_checker_and_both_splits_share_one_time_limit(service):
    slow = MEAN.replace(
        '    if (submission["pred',
        "    import time\n    end = time.process_time() + 0.8\n"
        '    while time.process_time() < end:\n        pass\n    if (submission["pred',
    )
    competition = use_python_metric(service, service.competition(), slow, limits=CallLimits(seconds=2.0))
    accepted = service.submit(competition)
    service.score(accepted)
    submission = service.submission(accepted)
    assert submission.status is SubmissionStatus.FAILED
    assert submission.problems[0]["message"] == "The metric takes too long."


def test_jobs_wait_while_no_sandbox_is_available(service, monkeypatch):
    def refuse(*_, **__):
        raise SandboxUnavailable("there is no seccomp")

    accepted = service.submit(use_python_metric(service, service.competition(), MEAN))
    monkeypatch.setattr(calculator.sandbox(), "start", refuse)
    service.score(accepted)
    assert job_of(service, accepted).state is JobState.WAITING


def test_only_the_lanes_of_python_metrics_claim_their_jobs(service, prepare_version):
    plain = service.submit(service.competition("plain"))
    other = use_python_metric(service, service.competition("python"), MEAN)
    accepted = service.submit(other)
    with service.database.write() as session:
        everything = {"session": session, "lease": timedelta(seconds=40), "now": service.now}
        found = jobs.waiting(session, older_than=timedelta(), limit=9, now=service.now)
        assert found == list(plain.job_ids)
        assert jobs.claim(job_id=accepted.job_ids[0], is_python=False, **everything) is None
        assert jobs.claim(job_id=plain.job_ids[0], is_python=True, **everything) is None
        assert jobs.claim(job_id=plain.job_ids[0], is_python=False, **everything) is not None
    service.score(accepted)
    prepare_version(other)
    with service.database.read() as session:
        assert jobs.next_version(session, now=service.now) is None


def take(service, turns, *busy):
    with service.database.read() as session:
        return turns.take(session, service.now, busy=busy)


def test_slow_metric_delays_no_other_until_several_of_its_files_were_fast(service):
    slow, other, fast = (
        ("competition", use_python_metric(service, service.competition(name), MEAN).id)
        for name in ("slow", "other", "fast")
    )
    for slug in ("slow", "other", "fast"):
        with service.database.read() as session:
            competition = lookup.get(session, slug=slug)
        service.submit(competition)
    turns = PythonTurns()
    assert take(service, turns) == slow
    assert take(service, turns, slow) == other  # Each has one turn at a time.
    turns.end(slow, python_turns.SLOW)
    turns.end(other, -9)  # A killed turn was slow.
    assert take(service, turns) == fast
    turns.end(fast, 1)
    assert take(service, turns) == slow  # This one has waited longest.
    assert take(service, turns, slow) == fast
    assert take(service, turns, slow, fast) is None
    turns.end(slow, python_turns.FAST_FILES - 1)
    assert take(service, turns, slow, fast) is None
    turns.end(slow, 1)
    assert take(service, turns, slow, fast) == other


def test_checks_of_one_user_take_turns_with_those_of_others(service):
    competition = service.competition()
    ada, bob = service.user("ada"), service.user("bob")
    with service.database.write() as session:
        added = [
            organizer_jobs.add(
                session,
                competition=competition,
                kind=OrganizerJobKind.CHECK,
                created_by=user,
                now=service.now,
                is_python=True,
            ).id
            for user in (ada, ada, ada, bob)
        ]
    turns = PythonTurns()
    assert take(service, turns) == ("user", ada.id)
    assert take(service, turns, ("user", ada.id)) == ("user", bob.id)
    assert take(service, turns, ("user", ada.id), ("user", bob.id)) is None
    with service.database.read() as session:
        assert organizer_jobs.next_check(session, user_id=ada.id, now=service.now) == added[0]
        assert organizer_jobs.next_check(session, user_id=bob.id, now=service.now) == added[3]
        assert organizer_jobs.waiting(session, lane="checks", now=service.now) is None


def test_turn_reports_a_slow_file(service, monkeypatch):
    competition = use_python_metric(service, service.competition(), MEAN)
    for seed in range(2):
        service.submit(competition, seed=seed)
    turn = Turn(service.settings, ("competition", competition.id))
    monkeypatch.setattr(lanes, "limit_memory", lambda _: None)
    monkeypatch.setattr(lanes, "end_process_after", lambda _: None)
    monkeypatch.setattr(python_turns, "START_SECONDS", -5.0)
    assert lanes.score_python(turn) == python_turns.SLOW
    monkeypatch.setattr(python_turns, "START_SECONDS", 60.0)
    assert [lanes.score_python(turn) for _ in range(2)] == [1, 0]
