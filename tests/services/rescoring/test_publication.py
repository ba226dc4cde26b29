"""Publication and rollback: changes, notices, races between organizers."""

import hashlib
from datetime import timedelta

import pytest
from sqlalchemy import select

from grader.models import (
    AuditEntry,
    JobState,
    Mail,
    ScoringJob,
    ScoringVersion,
    ScoringVersionState,
    SubmissionStatus,
)
from grader.services.closing import close as closing
from grader.services.competitions import acting, lookup, phases
from grader.services.rescoring import publication as rescoring_notices
from grader.services.solutions import publication
from grader.services.submissions import selections
from grader.services.teams import rosters
from grader.worker.scorer import Scorer
from tests.fixtures import rescorings
from tests.fixtures.races import race
from tests.fixtures.refusals import is_refusal, refused
from tests.fixtures.rescorings import TESTS, board, drop, publish, roll_back, waiting
from tests.fixtures.services import as_person

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


@pytest.fixture
def competition(service):
    """A competition with three scored teams and with limits, open for nine days."""
    competition = service.competition(closes_at=service.now + 9 * DAY, max_daily_submissions=3)
    for number, name in enumerate(("ada", "bob", "cleo")):
        service.score(service.submit(competition, user=name, seed=number, skill=number / 10))
    return service.reload(competition)


@pytest.fixture
def prepare(service, competition, solution_csv):
    """A function that prepares and scores the next version with another solution."""

    def do(*, seed: int = 2, scored: bool = True) -> ScoringVersion:
        version = rescorings.prepare(service, service.reload(competition), solution_csv(seed=seed))
        if scored:
            finish(service, version)
        return version

    return do


def finish(service, version):
    service.run(*waiting(service, version))


def states(service):
    with service.database.read() as session:
        return {each.number: each.state for each in session.scalars(select(ScoringVersion))}


def test_rollback_with_all_scores_is_immediate_and_restores_the_same_leaderboard(
    service, competition, prepare
):
    before = board(service, competition)
    publish(service, prepare())
    assert board(service, competition) != before
    version = roll_back(service, competition)
    assert (version.state, version.replaced_number) == (ScoringVersionState.LIVE, 2)
    assert board(service, competition) == before
    assert states(service) == {1: ScoringVersionState.LIVE, 2: ScoringVersionState.RETIRED}
    with service.database.read() as session:
        acts = [entry.action for entry in session.scalars(select(AuditEntry).order_by(AuditEntry.id))]
    assert [act for act in acts if act.startswith("rescoring.")] == [
        "rescoring.prepare",
        "rescoring.publish",
        "rescoring.roll_back",
    ]


def test_rollback_prepares_only_the_scores_missing_from_the_earlier_version(service, competition, prepare):
    publish(service, prepare())
    service.score(service.submit(competition, user="dan", seed=9))
    version = roll_back(service, competition)
    assert version.state is ScoringVersionState.PREPARING
    assert board(service, competition).scoring_version == 2
    jobs = waiting(service, version)
    assert len(jobs) == 1
    service.run(*jobs)
    publish(service, version)
    after = board(service, competition)
    assert (after.scoring_version, after.team_count) == (1, 4)


def test_rollback_retries_the_failed_files_of_the_earlier_version(service, competition, prepare):
    publish(service, prepare())
    with service.database.write() as session:
        jobs = session.scalars(select(ScoringJob).order_by(ScoringJob.id)).all()
        failed_id, jobs[0].state = jobs[0].id, JobState.FAILED
    version = roll_back(service, competition)
    assert version.state is ScoringVersionState.PREPARING
    assert waiting(service, version) == [failed_id]


def test_cancelled_rollback_leaves_a_version_that_can_still_be_rolled_back_to(service, competition, prepare):
    publish(service, prepare())
    service.score(service.submit(competition, user="dan", seed=9))
    version = roll_back(service, competition)
    drop(service, version)
    assert states(service)[1] is ScoringVersionState.RETIRED
    again = roll_back(service, competition)
    finish(service, again)
    publish(service, again)
    assert board(service, competition).scoring_version == 1


def test_rollback_needs_a_previously_live_version_and_a_reason(service, competition, prepare):
    version = prepare()
    for number in (1, 2):
        with refused("not_retired"):
            roll_back(service, competition, number)
    drop(service, version)
    with refused("not_retired"):
        roll_back(service, competition, 2)
    with refused("unknown_scoring_version"):
        roll_back(service, competition, 3)
    with refused("reason_needed"):
        roll_back(service, competition, 1, reason=" \n ")


def test_every_member_receives_one_notice_and_sees_old_and_new_scores(service, competition, prepare):
    service.verify_addresses("ada", "bob", "cleo")
    old = {row.team: row.score for row in board(service, competition).rows}
    version = prepare()
    with refused("notice_too_long"):
        publish(service, version, notice="x" * 5001)
    assert states(service) == {1: ScoringVersionState.LIVE, 2: ScoringVersionState.PREPARING}
    publish(service, version, notice="Labels are right now.")
    new = {row.team: row.score for row in board(service, competition).rows}
    with service.database.read() as session:
        mails = list(session.scalars(select(Mail).where(Mail.subject.contains("all scores use"))))
    assert sorted(mail.to_address for mail in mails) == sorted(f"{name}@example.org" for name in old)
    assert len({mail.body for mail in mails}) == 1 and "Labels are right now." in mails[0].body
    with service.database.read() as session:
        current = lookup.get(session, slug="toxicity")
        team = rosters.find_team(session, competition=current, user=service.user("ada"))
        lines = rescoring_notices.scores_of_team(session, competition=current, team=team, now=service.now)
        assert rescoring_notices.latest(current).notice == "Labels are right now."
        assert [(before.score, after.score) for before, after in lines] == [(old["ada"], new["ada"])]
    roll_back(service, competition)
    with service.database.read() as session:
        assert rescoring_notices.latest(lookup.get(session, slug="toxicity")).reason == "It was right before."
        assert len(list(session.scalars(select(Mail).where(Mail.subject.contains("all scores use"))))) == 3


def test_reopened_selection_can_be_changed_after_the_close_and_delays_the_reveal(
    service, competition, prepare
):
    close = competition.closes_at
    version = prepare()
    after = close + HOUR
    with service.database.write() as session:
        closing.settle(session, competition=competition, now=after)
    publish(service, version, now=after)
    with service.database.write() as session:
        act = acting.begin(session, competition=competition, actor=TESTS, now=after)
        selections.reopen(act, until=close + 2 * DAY, reason="Rescored.")
    current = service.reload(competition)
    assert selections.is_open(current, close + DAY, None) and not phases.is_settled(current)
    with service.database.write() as session:
        own = as_person(session, competition, service.user("ada"), now=close + DAY)
        picked = selections.select(own, submission_id=1)
        assert picked.is_selected
        with refused("selection_open"):
            closing.settle(session, competition=competition, now=close + DAY)
        with refused("selection_open"):
            closing.reveal(acting.begin(session, competition=competition, actor=TESTS, now=close + DAY))
        assert closing.unsettled(session, now=close + DAY) == []
        assert closing.due(session, now=close + DAY) == []
    with service.database.write() as session:
        own = as_person(session, competition, service.user("ada"), now=close + 2 * DAY)
        with refused("selection_closed"):
            selections.select(own, submission_id=1)
        assert [each.slug for each in closing.unsettled(session, now=close + 2 * DAY)] == ["toxicity"]
        closing.reveal(acting.begin(session, competition=competition, actor=TESTS, now=close + 2 * DAY))
        act = acting.begin(session, competition=competition, actor=TESTS, now=close + 3 * DAY)
        assert phases.is_settled(act.competition)
        with refused("selection_stays", match="is revealed"):
            selections.reopen(act, until=close + 9 * DAY, reason="No.")


@pytest.mark.both_databases
def test_only_one_of_two_simultaneous_publications_switches_and_mails(service, competition, prepare):
    service.verify_addresses("ada", "bob", "cleo")
    version = prepare()
    both = race(*[lambda: publish(service, version, notice="Now.")] * 2)
    assert [is_refusal(each, "not_preparing") for each in both].count(True) == 1
    with service.database.read() as session:
        assert len(list(session.scalars(select(Mail).where(Mail.subject.contains("all scores use"))))) == 3


@pytest.mark.both_databases
def test_only_one_of_a_simultaneous_publication_and_cancellation_succeeds(service, competition, prepare):
    version = prepare()
    results = race(lambda: publish(service, version), lambda: drop(service, version))
    assert [is_refusal(each, "not_preparing") for each in results].count(True) == 1
    live = [number for number, state in states(service).items() if state is ScoringVersionState.LIVE]
    assert len(live) == 1 and board(service, competition).scoring_version == live[0]


@pytest.mark.both_databases
def test_uploads_during_a_publication_are_scored_under_the_new_version(service, competition, prepare):
    version = prepare()
    for name in ("dan", "eve", "fay"):
        service.user(name)
    accepted = race(
        *[
            lambda name=name, seed=seed: service.submit(competition, user=name, seed=seed)
            for seed, name in enumerate(("dan", "eve", "fay"), 20)
        ],
        lambda: publish(service, version),
    )
    uploads = accepted[:3]
    assert isinstance(accepted[3], ScoringVersion)
    for each in uploads:
        service.score(each)
        assert service.submission(each).status is SubmissionStatus.SCORED
    shown = board(service, competition)
    assert (shown.scoring_version, shown.team_count) == (2, 6)


@pytest.mark.both_databases
def test_cancellation_during_scoring_leaves_no_open_job(service, competition, prepare):
    version = prepare(scored=False)
    jobs = waiting(service, version)

    def score():
        scorer = Scorer(service.database, service.storage, lease=HOUR)
        for job_id in jobs:
            scorer.run(job_id)

    assert race(score, lambda: drop(service, version).state) == [None, ScoringVersionState.DROPPED]
    assert waiting(service, version) == []
    assert states(service)[2] is ScoringVersionState.DROPPED
    assert board(service, competition).scoring_version == 1


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_published_solution_follows_the_live_version_automatically(service, competition, prepare):
    def written() -> str:
        """Return the name of the visible solution, whose file exists."""
        digest = publication.published(service.reload(competition)).digest
        assert hashlib.sha256(service.storage.read(digest)).hexdigest() == digest
        return digest

    with service.database.write() as session:
        closing.reveal(acting.begin(session, competition=competition, actor=TESTS, now=service.now))
        publication.publish(session, competition=competition, actor=TESTS, now=service.now)
    first = written()
    publish(service, prepare())
    assert written() != first
    roll_back(service, competition)
    assert written() == first
