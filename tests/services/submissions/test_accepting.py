"""Upload acceptance: deadline, teams, jobs, ownership."""

from datetime import timedelta

import pytest
from sqlalchemy import func, select

from grader.models import (
    Competition,
    ScoringJob,
    ScoringVersion,
    ScoringVersionState,
    Submission,
    SubmissionStatus,
    Team,
    TeamMember,
)
from grader.services.submissions import accepting
from grader.services.submissions import scoring_jobs as scoring
from grader.services.submissions.accepting import AcceptedUpload, UnknownSubmission
from grader.services.submissions.refusal import IdenticalFile
from grader.services.submissions.situation import SentFile
from tests.fixtures.races import race
from tests.fixtures.refusals import refused

HOUR = timedelta(hours=1)


def accept(service, competition, *, sha256="0" * 64, again=True, key=None, **options):
    file = SentFile(sha256, 10, again, key)
    options = {"file": file, "file_name": "a.csv", "user": service.user(), "now": service.now} | options
    with service.database.write() as session:
        return accepting.accept(session, competition=competition, **options)


@pytest.mark.both_databases
def test_files_are_accepted_before_the_deadline_and_not_at_it(service):
    competition = service.competition(opens_at=service.now + HOUR, closes_at=service.now + 2 * HOUR)
    tick = timedelta(microseconds=1)
    with refused("competition_not_open", "opens at 5 Jan 2026, 13:00:00 UTC"):
        accept(service, competition, now=service.now + HOUR - tick)
    accept(service, competition, now=service.now + HOUR)
    accept(service, competition, now=service.now + 2 * HOUR - tick)
    with refused("competition_closed", "closed at 5 Jan 2026, 14:00:00 UTC"):
        accept(service, competition, now=service.now + 2 * HOUR)
    with service.database.read() as session:
        assert session.scalar(select(func.count()).select_from(Submission)) == 2


def test_first_file_creates_a_one_person_team_with_a_free_name(service):
    competition = service.competition()
    with service.database.write() as session:
        session.add(Team(competition_id=competition.id, name="Ada", name_key="ada", created_at=service.now))
    first, second = accept(service, competition), accept(service, competition)
    assert first.submission.team_id == second.submission.team_id
    with service.database.read() as session:
        assert session.get_one(Team, first.submission.team_id).name == "ada (2)"
        assert session.scalars(select(TeamMember)).one().user_id == service.user().id


@pytest.mark.both_databases
def test_simultaneous_first_files_create_one_team(service):
    competition, user = service.competition(), service.user()
    sent = race(*[lambda: accept(service, competition, user=user, now=None)] * 8)
    assert all(isinstance(each, AcceptedUpload) for each in sent), sent
    with service.database.read() as session:
        assert session.scalar(select(func.count()).select_from(Team)) == 1
        assert session.scalar(select(func.count()).select_from(ScoringJob)) == 8
        rows = session.scalars(select(Submission).order_by(Submission.id)).all()
        assert [row.submitted_at for row in rows] == sorted(row.submitted_at for row in rows)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("C:\\Users\\ada\\best.csv", "best.csv"),
        ("../../etc/passwd", "passwd"),
        ("", "submission.csv"),
        ("a\0b\n.csv", "a b .csv"),
        ("x" * 300, "x" * 255),
        ("\ud800", "submission.csv"),
    ],
)
def test_folders_and_control_characters_are_removed_from_file_names(service, sent, kept):
    accepted = accept(service, service.competition(), file_name=sent)
    assert service.submission(accepted).file_name == kept


def test_description_has_a_limit_and_can_be_changed_by_its_team_only(service):
    accepted = accept(service, service.competition())
    submission_id = accepted.submission.id
    with service.database.write() as session:
        accepting.describe(session, user=service.user(), submission_id=submission_id, description="a\0b")
        with refused("description_too_long"):
            accepting.describe(
                session, user=service.user(), submission_id=submission_id, description="x" * 501
            )
    assert service.submission(accepted).description == "a b"
    stranger = service.user("eve")
    with pytest.raises(UnknownSubmission), service.database.write() as session:
        accepting.describe(session, user=stranger, submission_id=submission_id, description="mine")


@pytest.mark.both_databases
def test_only_one_of_many_simultaneous_claims_of_a_job_succeeds(service):
    [job_id] = accept(service, service.competition()).job_ids

    def claim():
        return service.act(scoring.claim, job_id=job_id, lease=timedelta(seconds=40))

    (claimed,) = (each for each in race(*[claim] * 8) if each is not None)
    assert claimed.job_id == job_id


def test_newest_identical_file_is_reported_and_uses_no_submission(service):
    competition = service.competition()
    first, second, third = (accept(service, competition, now=service.now + each * HOUR) for each in (1, 2, 0))
    with pytest.raises(IdenticalFile, match="That submission is not scored yet") as told:
        accept(service, competition, again=False)
    assert told.value.submission_id == second.submission.id
    with service.database.write() as session:
        for each in (first, third):
            session.get_one(Submission, each.submission.id).submitted_at = service.now + 2 * HOUR
    with pytest.raises(IdenticalFile) as told:
        accept(service, competition, again=False)
    assert told.value.submission_id == third.submission.id


def test_same_file_is_accepted_again_after_a_failure_or_a_rejection(service):
    competition = service.competition()
    for place, status in enumerate((SubmissionStatus.FAILED, SubmissionStatus.REJECTED)):
        first = service.submit(competition, seed=place, again=False)
        with service.database.write() as session:
            session.get_one(Submission, first.submission.id).status = status
        service.submit(competition, seed=place, again=False)


def test_repeated_idempotency_key_returns_the_first_submission_and_uses_none(service):
    competition = service.competition(closes_at=service.now + HOUR, max_daily_submissions=1)
    first = accept(service, competition, key="one", again=False)
    # The second submission follows after the limit is reached and the competition has closed.
    for later in (timedelta(), 2 * HOUR):
        again = accept(service, competition, key="one", again=False, now=service.now + later)
        assert (again.submission.id, again.job_ids, again.is_new) == (first.submission.id, (), False)
    with refused("idempotency_key_reused") as reused:
        accept(service, competition, key="one", sha256="1" * 64)
    assert reused.value.details == {"submission": first.submission.id}
    # From here on, Eve has a team.
    accept(service, competition, user=service.user("eve"), key="two")
    with service.database.write() as session:
        session.get_one(Competition, competition.id).max_daily_submissions = None
    other = accept(service, competition, key="one", user=service.user("eve"))
    assert other.is_new


@pytest.mark.both_databases
def test_simultaneous_requests_with_one_key_create_one_submission(service):
    competition, user = service.competition(), service.user()
    sent = race(*[lambda: accept(service, competition, user=user, key="one", now=None)] * 8)
    assert len({each.submission.id for each in sent}) == 1
    with service.database.read() as session:
        assert session.scalar(select(func.count()).select_from(Submission)) == 1


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_file_gets_a_job_under_its_competitions_live_and_prepared_versions(service, prepare_version):
    competition, other = service.competition(), service.competition("other")
    retired, prepared, elsewhere = (prepare_version(each) for each in (competition, competition, other))
    with service.database.write() as session:
        session.get_one(ScoringVersion, retired.id).state = ScoringVersionState.RETIRED
    accepted = accept(service, competition, key="x" * 128, description="first try")
    with service.database.read() as session:
        jobs = [session.get_one(ScoringJob, job_id) for job_id in accepted.job_ids]
        assert [job.scoring_version_id for job in jobs] == [competition.live_scoring_version_id, prepared.id]
        assert {(job.submission_id, job.available_at, job.created_at) for job in jobs} == {
            (accepted.submission.id, service.now, service.now)
        }
    submission = service.submission(accepted)
    assert (submission.idempotency_key, submission.description) == ("x" * 128, "first try")
    assert accepted.is_new and elsewhere.id not in {job.scoring_version_id for job in jobs}
