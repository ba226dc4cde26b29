"""Drafts and settings: creation, changes, fixed settings, audit, public log."""

import hashlib
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from fairboard import MetricSettings
from grader.files import read_solution
from grader.models import (
    AuditEntry,
    Competition,
    CompetitionState,
    Organizer,
    RevealRule,
    Role,
    Score,
    ScoringJob,
    ScoringVersionState,
    Solution,
    SubmissionStatus,
)
from grader.services.competitions import acting, drafts, lookup
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.settings_model import CompetitionSettings
from grader.services.competitions.settings_problems import InvalidCompetition
from grader.services.rescoring import versions
from grader.services.site.log import Actor
from grader.services.solutions import data_files as files
from grader.services.submissions import benchmark_entries
from grader.text import iso
from tests.fixtures import stored_solutions

DAY = timedelta(days=1)
SHELL = Actor(None, "shell (tests)")


def draft(service, slug="next", **chosen):
    settings = CompetitionSettings(title="Next").changed(**chosen)
    return service.act(drafts.create, slug=slug, settings=settings, actor=SHELL)


def change(service, competition, *, after=timedelta(), **changes):
    return service.act(
        competition_settings.change, competition=competition, changes=changes, actor=SHELL, after=after
    )


def accept_solution(service, competition, csv, **options):
    stored = stored_solutions.store_new(service.storage, read_solution(csv), split_key=b"k", **options)
    service.act(versions.set_first, competition=competition, solution=stored, actor=SHELL)


def entries(service, competition):
    with service.database.read() as session:
        query = select(AuditEntry).where(AuditEntry.competition_id == competition.id)
        return list(session.scalars(query.order_by(AuditEntry.id)))


def test_creator_owns_a_draft_and_owners_may_create_more(service):
    ada, bob = service.user("ada", is_admin=True), service.user("bob")
    with service.database.write() as session:
        assert drafts.may_create(session, user=ada)
        assert not drafts.may_create(session, user=bob)
        settings = CompetitionSettings(title="Next")
        made = drafts.create(
            session, slug="next", settings=settings, owner=bob, actor=Actor.of(ada), now=service.now
        )
        roles = session.execute(
            select(Organizer.user_id, Organizer.role).where(Organizer.competition_id == made.id)
        ).all()
        assert [tuple(each) for each in roles] == [(ada.id, Role.OWNER), (bob.id, Role.OWNER)]
        assert drafts.may_create(session, user=bob)


def test_all_problems_of_a_draft_are_reported_at_once(service):
    with pytest.raises(InvalidCompetition) as caught:
        draft(service, "new", title=" ", max_team_size=0, identities=("x", "x"))
    named = {name for fault in caught.value.faults for name in fault.names}
    assert named == {"title", "max_team_size", "identities", "slug"}


def test_default_dates_follow_the_close_once_opening_and_close_are_known(service):
    made = draft(service, closes_at=service.now + 30 * DAY)
    assert service.reload(made).entry_deadline is None
    change(service, made, opens_at=service.now + DAY)
    found = service.reload(made)
    assert found.entry_deadline == found.merger_deadline == service.now + 23 * DAY
    assert found.reveals_at == service.now + 37 * DAY
    assert competition_settings.of(found).entry_deadline is None
    change(service, made, closes_at=service.now + 40 * DAY, merger_deadline=service.now + 5 * DAY)
    found = service.reload(made)
    assert found.entry_deadline == service.now + 33 * DAY
    assert found.merger_deadline == service.now + 5 * DAY


@pytest.mark.parametrize(("days", "entry_days"), [(3, 3), (27, 27), (28, 21)])
def test_entry_and_mergers_end_at_the_close_of_a_short_competition(days, entry_days):
    opens = datetime(2030, 1, 1, tzinfo=UTC)
    dates = competition_settings.default_dates(
        CompetitionSettings(opens_at=opens, closes_at=opens + days * DAY)
    )
    assert dates["entry_deadline"] == dates["merger_deadline"] == opens + entry_days * DAY


def test_reveal_by_organizers_has_no_date(service):
    made = draft(service, opens_at=service.now, closes_at=service.now + 30 * DAY)
    change(service, made, reveal_rule=RevealRule.ORGANIZER)
    assert service.reload(made).reveals_at is None
    with pytest.raises(InvalidCompetition, match="change the reveal rule"):
        change(service, made, reveals_at=service.now + 50 * DAY)
    change(service, made, reveal_rule=RevealRule.DATE)
    assert service.reload(made).reveals_at == service.now + 37 * DAY


def test_solution_of_a_draft_fixes_its_metric_until_either_is_changed(service, solution_csv):
    made = draft(service)
    accept_solution(service, made, solution_csv())
    found = service.reload(made)
    first = lookup.live(found)
    assert (first.number, first.state) == (1, ScoringVersionState.LIVE)
    assert competition_settings.of(found).identities == ("female", "muslim")
    accept_solution(service, made, solution_csv(seed=2), identities=("female",))
    found = service.reload(made)
    assert lookup.live(found).number == 2
    assert competition_settings.of(found).identities == ("female",)
    change(service, made, metric=MetricSettings(power=-2))
    assert service.reload(made).live_scoring_version is None
    assert service.reload(made).draft_metric["metric"]["power"] == -2
    assert [entry.action for entry in entries(service, made)] == [
        "competition.create",
        "solution.accept",
        "solution.accept",
        "competition.change",
    ]


def test_locked_setting_is_rejected_with_the_reason_and_no_other_change_is_made(service):
    made = service.competition(opens_at=service.now, closes_at=service.now + 30 * DAY)
    with pytest.raises(InvalidCompetition) as caught:
        change(
            service,
            made,
            metric=MetricSettings(power=-2),
            feedback="score",
            opens_at=service.now + DAY,
            title="Other",
        )
    assert len(caught.value.problems) == 3
    assert "rescoring" in str(caught.value)
    assert service.reload(made).title == "Toxicity"


def test_feedback_and_opening_but_not_the_metric_can_change_before_the_opening(service):
    made = service.competition(opens_at=service.now + DAY, closes_at=service.now + 30 * DAY)
    locked = competition_settings.locks(service.reload(made), service.now)
    assert set(locked) == {"anonymity", "identities", "min_class_rows", "metric"}
    assert change(service, made, opens_at=service.now + 2 * DAY) == {"opens_at"}


def test_dates_are_fixed_after_the_close_and_the_reveal(service):
    made = service.competition(opens_at=service.now, closes_at=service.now + DAY)
    with pytest.raises(InvalidCompetition, match="The competition is closed"):
        change(service, made, after=2 * DAY, closes_at=service.now + 5 * DAY)
    change(service, made, after=2 * DAY, reveals_at=service.now + 9 * DAY)
    with pytest.raises(InvalidCompetition, match="is in the past"):
        change(service, service.competition("open"), after=2 * DAY, closes_at=service.now + DAY)


def test_public_log_contains_deadlines_limits_and_rules_but_not_those_of_drafts(service):
    change(service, draft(service), rules="No.", max_daily_submissions=3)
    made = service.competition(
        opens_at=service.now, closes_at=service.now + 30 * DAY, max_daily_submissions=5
    )
    change(
        service,
        made,
        closes_at=service.now + 40 * DAY,
        rules="Be fair.",
        max_daily_submissions=7,
        overview="New.",
    )
    entry = entries(service, made)[-1]
    assert entry.is_public
    assert entry.before["closes_at"] == iso(service.now + 30 * DAY)
    followed = {"entry_deadline", "merger_deadline", "reveals_at"}
    assert set(entry.after) == {"closes_at", "rules", "max_daily_submissions", "overview"} | followed
    assert "The close changed from" in entry.public_text
    assert "The entry deadline changed from" in entry.public_text
    assert "version 2" in entry.public_text
    assert "from 5 to 7" in entry.public_text
    change(service, made, closes_at=None)
    found = service.reload(made)
    assert (found.closes_at, found.entry_deadline, found.merger_deadline, found.reveals_at) == (None,) * 4
    assert "New." not in entry.public_text
    assert not any(entry.is_public for entry in entries(service, service.reload(Competition(slug="next"))))


def test_change_without_a_difference_leaves_no_trace(service):
    made = draft(service, rules="One.\n\nTwo.")
    assert not change(service, made, rules="One.\r\n\r\nTwo.\r\n", title=" Next ")
    assert len(entries(service, made)) == 1


def test_clone_has_everything_but_dates_people_and_optionally_the_solution(service):
    source = service.competition(
        opens_at=service.now, closes_at=service.now + 30 * DAY, rules="Be fair.", max_daily_submissions=7
    )
    blob = service.storage.put(b"id,comment\n")
    with service.database.write() as session:
        files.add(session, competition=source, name="test.csv", blob=blob, actor=SHELL, now=service.now)
        source = lookup.get(session, slug=source.slug)
        act = acting.begin(session, competition=source, actor=SHELL, now=service.now)
        bare = drafts.clone(act, slug="bare", with_data=False)
        full = drafts.clone(act, slug="full", title="Full")
        versions.copy_solution(act, draft=full)
        assert not files.list_all(session, competition=bare)
        assert [file.sha256 for file in files.list_all(session, competition=full)] == [blob.sha256]
    bare, full = service.reload(bare), service.reload(full)
    expected = competition_settings.of(service.reload(source)).changed(opens_at=None, closes_at=None)
    assert competition_settings.of(bare) == expected
    assert competition_settings.of(full) == expected.changed(title="Full")
    assert bare.live_scoring_version is None
    copied, first = (lookup.live(service.reload(each)).solution for each in (full, source))
    assert copied.digest == first.digest
    assert copied.nonce != first.nonce  # equal commitments would disclose that the labels are equal
    assert (full.state, full.rules_version) == (CompetitionState.DRAFT, 1)


def test_same_content_keeps_its_commitment_within_a_competition(service, solution_csv):
    made = draft(service)
    for seed in (1, 1, 2):
        accept_solution(service, made, solution_csv(seed=seed))
    with service.database.read() as session:
        found = session.scalars(select(Solution).order_by(Solution.number)).all()
    assert [len(each.nonce) for each in found] == [64] * 3
    assert found[0].nonce == found[1].nonce != found[2].nonce
    for each in found:
        content = service.storage.read(each.digest)
        digest = hashlib.sha256(content).digest()
        assert hashlib.sha256(bytes.fromhex(each.nonce) + digest).hexdigest() == each.commitment


def test_draft_test_submissions_are_also_scored_under_its_next_solution(
    service, solution_csv, predictions_csv
):
    ada = service.user("ada", is_admin=True)
    made = draft(service)
    accept_solution(service, made, solution_csv())
    entered = service.act(
        benchmark_entries.add,
        competition=made,
        blob=service.storage.put(predictions_csv()),
        file_name="baseline.csv",
        actor=Actor.of(ada),
    )
    service.score(entered)
    accept_solution(service, made, solution_csv(seed=2))
    with service.database.read() as session:
        version = lookup.live(lookup.get(session, slug="next"))
        (job_id,) = session.scalars(select(ScoringJob.id).where(ScoringJob.scoring_version_id == version.id))
    service.run(job_id)
    assert service.submission(entered).status is SubmissionStatus.SCORED


def test_publishing_submits_the_sample_submission_once_in_an_organizers_name(service, solution_csv):
    ada = service.user("ada", is_admin=True)
    made = draft(service, contact="x@example.org", closes_at=service.now + 30 * DAY)
    accept_solution(service, made, solution_csv())
    with service.database.write() as session:
        act = acting.begin(session, competition=made, actor=Actor.of(ada), now=service.now)
        entered = benchmark_entries.publish(act, storage=service.storage)
        assert benchmark_entries.add_sample(act, storage=service.storage) is None
    service.score(entered)
    with service.database.read() as session:
        score = session.scalar(select(Score).where(Score.submission_id == entered.submission.id))
        assert score.score == 0.5
