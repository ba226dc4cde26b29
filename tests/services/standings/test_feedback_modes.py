"""Coarse feedback modes: stored and displayed feedback, for any scoring order."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from grader import feedback
from grader.feedback import Basis
from grader.files import RowIds, read_submission
from grader.metrics.analysis.influence import Measured, Sets
from grader.metrics.analysis.paired_differences import score_difference
from grader.models import (
    Competition,
    Score,
    ScoreBasis,
    ScoringJob,
    ScoringVersion,
    Split,
    Standing,
    Submission,
    SubmissionKind,
    SubmissionStatus,
)
from grader.services.audit.log import Actor
from grader.services.closing import verification
from grader.services.competitions import lookup
from grader.services.competitions.metric import Rules
from grader.services.jobs.leased_rows import Breakdown, Rejection
from grader.services.leaderboards import leaderboard, score_history, submission_results, team_results
from grader.services.rescoring import publication
from grader.services.scoring import jobs
from grader.services.scoring.jobs import Outcome
from grader.services.solutions.truth import Truth
from grader.services.standings import rows, shown_scores
from grader.services.submissions import selections
from grader.visibility import Feedback, Phase, Step, Viewer, visible_fields
from grader.worker.scorer import Scorer
from tests.fixtures.ladders import HOUR, by_the_rule, send, shown
from tests.fixtures.races import race
from tests.fixtures.service import LEASE, write_predictions

IN_LADDER = [True, False, True, False, True]


def end(service, job_id: int, *outcomes: Outcome):
    """Record these outcomes for a job's attempts."""
    for place, outcome in enumerate(outcomes, 1):
        now = service.now + 10 * place * HOUR
        with service.database.write() as session:
            claim = jobs.claim(session, job_id=job_id, lease=LEASE, now=now)
            assert claim is not None
            jobs.record(session, job_id=job_id, token=claim.token, outcome=outcome, now=now)


def merge(service, competition: Competition, *, taken, into) -> int:
    """Transfer one team's files to another; return the id of the other team."""
    old, new = (service.submission(each).team_id for each in (taken, into))
    with service.database.write() as session:
        own = lookup.lock(session, competition_id=competition.id)
        for submission in session.scalars(select(Submission).where(Submission.team_id == old)):
            submission.team_id = new
        session.flush()
        rows.rebuild(session, competition=own, team_ids=[old, new])
    return new  # type: ignore[no-any-return]


def public_standings(service) -> dict[int, tuple[int, int]]:
    with service.database.read() as session:
        rows = session.scalars(select(Standing).where(Standing.split == Split.PUBLIC)).all()
        live = session.scalars(select(Competition.live_scoring_version_id)).one()
        return {
            row.team_id: (row.submission_id, row.score_units)
            for row in rows
            if row.scoring_version_id == live
        }


def with_power(settings: dict[str, Any], power: float) -> dict[str, Any]:
    return settings | {"metric": settings["metric"] | {"power": power}}


@pytest.mark.parametrize("mode", [Feedback.TIERED, Feedback.LADDER, Feedback.NOISED, Feedback.BLIND])
def test_each_coarse_mode_shows_feedback_according_to_its_rule(service, coarse, mode: Feedback):
    competition = coarse(mode)
    sent = send(service, competition)
    service.score(*sent)
    found = shown(service)
    assert found == by_the_rule(service, competition)
    if mode is Feedback.LADDER:
        assert [units is not None for units in found.values()] == IN_LADDER
    best = max((units for units in found.values() if units is not None), default=None)
    standings = list(public_standings(service).values())
    assert [units for _, units in standings] == ([] if best is None else [best])


def test_stored_basis_yields_the_standard_error_of_the_paired_difference(service, coarse):
    competition = coarse(Feedback.LADDER)
    sent = send(service, competition, (0.2, 0.9))
    service.score(*sent)
    with service.database.read() as session:
        version = lookup.live(lookup.get(session, slug=competition.slug))
        rules = Rules.from_dict(version.metric_settings)
        truth = Truth.from_bytes(service.storage.read(version.solution.prepared_sha256))
        row_ids = RowIds.from_bytes(service.storage.read(version.solution.row_ids_sha256))
        stored = [Basis.of(row.noise, row.sketch) for row in session.scalars(select(ScoreBasis))]
    sets = Sets(truth.prepare(Split.PUBLIC, identities=rules.identities, settings=rules.metric))
    rows = truth.rows(Split.PUBLIC)
    one, other = (
        Measured.of(
            sets, read_submission(write_predictions(skill=skill, seed=seed), row_ids).predictions[rows]
        )
        for skill, seed in ((0.2, 10), (0.9, 11))
    )
    exact = score_difference(one, other).standard_error
    assert exact is not None
    assert feedback.paired_error(*stored) == pytest.approx(exact, rel=0.25)


@pytest.mark.parametrize("order", [(4, 3, 2, 1, 0), (2, 0, 4, 1, 3), (1, 0, 3, 2, 4)])
def test_ladder_follows_the_order_of_acceptance_not_of_scoring(service, coarse, order: tuple[int, ...]):
    competition = coarse(Feedback.LADDER)
    jobs_in_order = [job_id for sent in send(service, competition) for job_id in sent.job_ids]
    scorer = Scorer(service.database, service.storage, lease=LEASE)
    left = [jobs_in_order[place] for place in order]
    while left:
        done = [job_id for job_id in left if scorer.run(job_id)]
        assert done
        left = [job_id for job_id in left if job_id not in done]
    assert shown(service) == by_the_rule(service, competition)
    assert [units is not None for _, units in sorted(shown(service).items())] == IN_LADDER


def test_file_waits_only_for_earlier_files_of_its_team(service, coarse):
    competition = coarse(Feedback.LADDER)
    first, second = send(service, competition, (0.2, 0.9))
    (other,) = send(service, competition, (0.4,), user="bob")
    scorer = Scorer(service.database, service.storage, lease=LEASE)
    assert not scorer.run(second.job_ids[0])
    assert scorer.run(other.job_ids[0])
    assert scorer.run_and_find_next(first.job_ids[0]) == list(second.job_ids)
    assert scorer.next_in_turn(other.job_ids[0]) == []
    assert scorer.run(second.job_ids[0])


def test_files_in_other_modes_do_not_wait(service, coarse):
    competition = coarse(Feedback.TIERED)
    first, second = send(service, competition, (0.2, 0.9))
    scorer = Scorer(service.database, service.storage, lease=LEASE)
    assert scorer.run_and_find_next(second.job_ids[0]) == []
    assert scorer.run_and_find_next(first.job_ids[0]) == []
    assert service.submission(first).status is SubmissionStatus.SCORED


def test_failed_file_blocks_no_other_and_is_inserted_in_order_when_scored(service, coarse):
    competition = coarse(Feedback.LADDER)
    sent = send(service, competition, (0.2, 0.9, 1.5))
    service.score(sent[0])
    failing = sent[1].job_ids[0]
    end(service, failing, *[Breakdown("x")] * jobs.LIMITS.errors)
    service.score(sent[2])
    assert service.submission(sent[2]).status is SubmissionStatus.SCORED
    before = shown(service)
    with service.database.write() as session:
        job = session.get_one(jobs.ScoringJob, failing)
        job.state, job.available_at, job.error_count = jobs.JobState.WAITING, service.now, 0
    assert shown(service) == before
    service.run(failing)
    assert shown(service) == by_the_rule(service, competition)
    assert len(shown(service)) == 3


def test_merge_combines_two_ladders_into_one(service, coarse):
    competition = coarse(Feedback.LADDER)
    sent = [*send(service, competition, (0.9, 1.5)), *send(service, competition, (0.2, 0.5), user="bob")]
    for each in sent:
        service.score(each)
    mine = merge(service, competition, taken=sent[2], into=sent[0])
    assert shown(service) == by_the_rule(service, competition)
    assert public_standings(service).keys() == {mine}


@pytest.mark.parametrize("outcome", ["rejected", "failed", "lost"])
def test_file_without_a_score_frees_files_waiting_for_it_since_a_merge(service, coarse, outcome: str):
    competition = coarse(Feedback.LADDER)
    (pending,) = send(service, competition, (0.9,))
    (scored,) = send(service, competition, (0.2,), user="bob")
    service.score(scored)
    before = shown(service)
    team = merge(service, competition, taken=scored, into=pending)
    assert public_standings(service) == {}
    match outcome:
        case "rejected":
            end(service, pending.job_ids[0], Rejection([]))
        case "failed":
            end(service, pending.job_ids[0], *[Breakdown("x")] * jobs.LIMITS.errors)
        case "lost":
            for place in range(jobs.LIMITS.lost_leases + 1):
                with service.database.write() as session:
                    now = service.now + 10 * place * HOUR
                    jobs.claim(session, job_id=pending.job_ids[0], lease=LEASE, now=now)
    assert shown(service) == before
    assert public_standings(service).keys() == {team}


@pytest.mark.parametrize("mode", [Feedback.TIERED, Feedback.LADDER])
def test_rescoring_shows_the_files_of_a_team_whose_last_one_fails(
    service, coarse, prepare_version, mode: Feedback
):
    competition = coarse(mode)
    sent = send(service, competition, (0.2, 0.9))
    service.score(*sent)
    version = prepare_version(competition)
    with service.database.read() as session:
        query = select(ScoringJob.submission_id, ScoringJob.id)
        again = dict(session.execute(query.where(ScoringJob.scoring_version_id == version.id)).all())
    last = again.pop(sent[1].submission.id)
    service.run(*again.values())
    end(service, last, *[Breakdown("x")] * jobs.LIMITS.errors)
    with service.database.write() as session:
        publication.publish(
            session, scoring_version_id=version.id, actor=Actor(None, "tests"), lose_scores=True
        )
    assert shown(service) == by_the_rule(service, service.reload(competition))
    assert [each for each, _ in public_standings(service).values()] == list(again)


def test_rescoring_recomputes_the_ladder(service, coarse, prepare_version):
    competition = coarse(Feedback.LADDER)
    for name in ("ada", "bob"):
        service.score(*send(service, competition, user=name))
    old = competition.live_scoring_version_id
    before = shown(service)
    version = prepare_version(competition)
    with service.database.write() as session:
        own = session.get_one(ScoringVersion, version.id)
        own.metric_settings = with_power(own.metric_settings, -1.0)
    scorer = Scorer(service.database, service.storage, lease=LEASE)
    while scorer.run_batch(version.id):
        pass
    assert shown(service, version.id) == by_the_rule(service, competition, version.id)
    assert shown(service, old) == before
    with service.database.write() as session:
        publication.publish(session, scoring_version_id=version.id, actor=Actor(None, "tests"))
    competition = service.reload(competition)
    assert shown(service) == by_the_rule(service, competition)
    assert len(public_standings(service)) == 2
    with service.database.write() as session:
        publication.roll_back(
            session, competition=competition, number=1, reason="Back.", actor=Actor(None, "tests")
        )
    assert shown(service) == before


def test_pending_file_is_left_to_the_live_version_of_a_ladder(service, coarse, prepare_version):
    competition = coarse(Feedback.LADDER)
    first, second = send(service, competition, (0.2, 0.9))
    service.score(first)
    version = prepare_version(competition)
    with service.database.write() as session:
        jobs.add_job(
            session, submission_id=second.submission.id, scoring_version_id=version.id, now=service.now
        )
    scorer = Scorer(service.database, service.storage, lease=LEASE)
    assert scorer.run_batch(version.id)
    assert not scorer.run_batch(version.id)
    service.score(second)
    assert scorer.run_batch(version.id)
    assert shown(service, version.id) == shown(service)


def test_chart_shows_the_steps_of_the_ladder(service, coarse):
    competition = coarse(Feedback.LADDER)
    sent = send(service, competition)
    service.score(*sent)
    ids = [each.submission.id for each in sent]
    with service.database.read() as session:
        own = lookup.get(session, slug=competition.slug)
        submission = session.get_one(Submission, ids[0])
        (steps,) = score_history.of_teams(session, competition=own, team_ids=[submission.team_id])
        assert [step.submission_id for step in steps.steps] == [ids[0], ids[2], ids[4]]


def test_blind_has_no_public_leaderboard(service, coarse):
    competition = coarse(Feedback.BLIND)
    service.score(*send(service, competition, (0.2, 0.9, 0.4)))
    with service.database.read() as session:
        own = lookup.get(session, slug=competition.slug)
        assert leaderboard.board_of(session, competition=own, now=service.now).rows == ()
        assert rows.without_daily_ranks(session, now=service.now + timedelta(days=1)) == []


@pytest.mark.parametrize("mode", [mode for mode in Feedback if mode.is_coarse])
def test_free_slots_go_to_the_best_true_public_scores_which_are_hidden_until_the_reveal(
    service, coarse, mode: Feedback
):
    """The best true score belongs to a file that a ladder and `blind` do not show."""
    competition = coarse(mode, Step.OF_0_02, closes_at=service.now + 10 * HOUR)
    sent = send(service, competition, (1.5, 0.1, 1.51, 0.2))
    service.score(*sent)
    ids = [each.submission.id for each in sent]

    def choice() -> selections.Choice:
        with service.database.read() as session:
            own = lookup.get(session, slug=competition.slug)
            team = session.get_one(Submission, ids[0]).team
            return selections.would_count(session, competition=own, team=team, now=service.now)

    with service.database.read() as session:
        query = select(Score.submission_id).where(Score.split == Split.PUBLIC)
        query = query.order_by(Score.score.desc(), Score.submission_id)
        best_first = list(session.scalars(query))
    for _ in ("open", "closed"):
        assert (choice().reasons, choice().filled_later) == ({}, 2)
        service.now += 11 * HOUR
    competition = service.reveal(competition)
    assert list(choice().reasons) == best_first[:2]
    with service.database.read() as session:
        own = lookup.get(session, slug=competition.slug)
        team = session.get_one(Submission, ids[0]).team
        results = team_results.of_team(session, competition=own, team=team, phase=Phase.REVEALED)
        competed = {line.submission_id for line in results.lines if line.is_picked is not None}
        assert competed == set(best_first[:2])
        version = session.get_one(ScoringVersion, own.live_scoring_version_id)
        assert {each.id for each in verification.competing(session, version=version)} == competed


def test_late_file_does_not_affect_daily_ranks(service, coarse):
    competition = coarse(Feedback.LADDER, closes_at=service.now + HOUR)
    (sent,) = send(service, competition, (0.2,))
    service.score(sent)
    service.now += 2 * HOUR
    competition = service.reveal(competition)
    ranks = {service.submission(sent).team_id: 1}
    with service.database.write() as session:
        own = lookup.get(session, slug=competition.slug)
        assert rows.write_daily_ranks(session, competition=own, ranks=ranks, now=service.now)
    (late,) = send(service, competition, (1.5,))
    service.score(late)
    assert service.submission(late).kind is SubmissionKind.LATE
    assert shown(service) == by_the_rule(service, competition)
    with service.database.read() as session:
        day = service.now.date()
        assert rows.daily_ranks(session, competition.live_scoring_version_id, day) == ranks


@pytest.mark.parametrize("mode", [Feedback.LADDER, Feedback.BLIND])
def test_team_sees_the_feedback_and_an_organizer_the_score(service, coarse, mode: Feedback):
    competition = coarse(mode)
    sent = send(service, competition)
    service.score(*sent)
    with service.database.read() as session:
        submission = session.get_one(Submission, sent[4].submission.id)
        seen = {
            viewer: submission_results.summary(
                session, submission=submission, viewer=viewer, phase=Phase.OPEN
            )
            for viewer in (Viewer.TEAM, Viewer.ORGANIZER)
        }
        exact = session.scalars(
            select(Score.score).where(Score.submission_id == submission.id, Score.split == Split.PUBLIC)
        ).one()
    own, organizers = seen[Viewer.TEAM], seen[Viewer.ORGANIZER]
    assert organizers.public is not None
    assert organizers.public.score == f"{exact:.5f}"
    assert organizers.public.terms
    units = shown(service)[submission.id]
    assert organizers.shown_units == units
    if mode is Feedback.BLIND:
        assert (units, own.public, own.rank) == (None, None, None)
    else:
        assert units is not None
        assert own.public is not None
        assert (own.public.score_units, own.public.terms, own.public.identities) == (units, {}, ())
        assert units % competition.feedback_step.units == 0
        assert own.gain_units == units - shown(service)[sent[2].submission.id]


def test_benchmark_is_rounded_down_to_the_step_and_hidden_in_blind(coarse):
    competition = coarse(Feedback.LADDER, slug="ladder")
    assert shown_scores.benchmark_units(competition, 0.91999) == 90000
    competition = coarse(Feedback.BLIND, slug="blind")
    assert shown_scores.benchmark_units(competition, 0.91999) is None


def test_withheld_values_include_the_score_itself():
    for mode in Feedback:
        for viewer in (Viewer.PUBLIC, Viewer.PARTICIPANT, Viewer.TEAM):
            seen = visible_fields(viewer, Phase.OPEN, mode)
            assert ("exact_score" in seen) is not mode.is_coarse
            assert ("public_score" in seen) is (mode is not Feedback.BLIND)


def test_noise_does_not_average_out_over_equal_files(service, coarse):
    competition = coarse(Feedback.NOISED, Step.OF_0_001)
    same = [service.submit(competition, skill=0.5, after=place * HOUR) for place in range(3)]
    lines = write_predictions(skill=0.5).decode().splitlines()
    scaled = [lines[0], *(f"{row},{float(value) * 2!r}" for row, value in (x.split(",") for x in lines[1:]))]
    same.append(service.submit(competition, csv="\n".join(scaled).encode() + b"\n", after=4 * HOUR))
    service.score(*same)
    assert len(set(shown(service).values())) == 1


@pytest.mark.both_databases
def test_four_simultaneous_workers_produce_the_same_ladder(service, coarse):
    competition = coarse(Feedback.LADDER)
    everything = [*send(service, competition), *send(service, competition, user="bob")]
    left = {job_id for each in everything for job_id in each.job_ids}
    lock = threading.Lock()

    def work(number: int):
        scorer = Scorer(service.database, service.storage, lease=LEASE)
        for _ in range(200):
            with lock:
                todo = sorted(left, reverse=number % 2 == 0)
            if not todo:
                return
            for job_id in todo:
                if scorer.run(job_id):
                    with lock:
                        left.discard(job_id)

    race(*(lambda number=number: work(number) for number in range(4)))
    assert not left
    assert shown(service) == by_the_rule(service, competition)
    best = {team: units for team, (_, units) in public_standings(service).items()}
    assert len(best) == 2
    assert set(best.values()) == {max(units for units in shown(service).values() if units is not None)}
