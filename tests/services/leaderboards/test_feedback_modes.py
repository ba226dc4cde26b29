"""Coarse feedback modes: displayed scores and standings."""

from datetime import timedelta
from decimal import Decimal

import pytest
from sqlalchemy import select

from grader.models import (
    Competition,
    Score,
    Split,
    Standing,
    Submission,
    SubmissionKind,
)
from grader.ranking import order
from grader.services.competitions import lookup
from grader.services.leaderboards import shown_scores, team_results
from grader.services.leaderboards.board import BoardRequest, board_of
from grader.services.submissions import selections
from grader.visibility import Feedback, Phase, Step, Viewer, visible_fields
from tests.fixtures.refusals import refused

HOUR = timedelta(hours=1)
# With a step of 0.02: a first score, then worse, better, about equal, better.
SKILLS = (0.1, 0.02, 0.5, 0.45, 1.5)


@pytest.fixture
def coarse(service):
    """A function that creates a competition in a coarse mode."""

    def make(mode: Feedback, step: Step = Step.OF_0_02, **options) -> Competition:
        competition = service.competition(**options)
        with service.database.write() as session:
            own = lookup.get(session, slug=competition.slug)
            own.feedback, own.feedback_step = mode, step
        return service.reload(competition)  # type: ignore[no-any-return]

    return make


def send(service, competition, skills=SKILLS, **options):
    return [
        service.submit(competition, skill=skill, seed=10 + place, after=place * HOUR, **options)
        for place, skill in enumerate(skills)
    ]


@pytest.mark.parametrize("mode", [Feedback.TIERED, Feedback.BLIND])
def test_each_coarse_mode_ranks_a_team_by_its_displayed_score(service, coarse, mode):
    competition = coarse(mode)
    service.score(*send(service, competition))
    step = Decimal(competition.feedback_step.value)
    with service.database.read() as session:
        scores = session.scalars(select(Score.score).where(Score.split == Split.PUBLIC)).all()
        units = session.scalars(select(Standing.score_units).where(Standing.split == Split.PUBLIC)).all()
    lower_ends = [Decimal(order.SCALE.text(order.SCALE.units(score))) // step * step for score in scores]
    assert units == ([] if mode is Feedback.BLIND else [max(lower_ends) * 100_000])


def test_benchmark_is_shown_like_a_submission(coarse):
    competition = coarse(Feedback.TIERED, slug="tiered")
    assert shown_scores.units(competition, 0.91999) == 90000
    competition = coarse(Feedback.BLIND, slug="blind")
    assert shown_scores.units(competition, 0.91999) is None


def test_blind_shows_neither_teams_nor_benchmarks(service, coarse):
    competition = coarse(Feedback.BLIND)
    sent = send(service, competition, (0.2, 0.9, 0.4))
    service.score(*sent)
    with service.database.write() as session:
        session.get_one(Submission, sent[0].submission.id).kind = SubmissionKind.BENCHMARK
    with service.database.read() as session:
        own = lookup.get(session, slug=competition.slug)
        assert board_of(session, competition=own, phase=Phase.OPEN).rows == ()


def test_leaderboard_is_not_sorted_by_a_hidden_term(service, coarse):
    competition = coarse(Feedback.TIERED)
    service.score(*send(service, competition, (0.5,)))
    wanted = BoardRequest(sort="bpsn_auc")
    with service.database.read() as session:
        own = lookup.get(session, slug=competition.slug)
        with refused("hidden_column"):
            board_of(session, competition=own, phase=Phase.OPEN, request=wanted)


@pytest.mark.parametrize("mode", [mode for mode in Feedback if mode.is_coarse])
def test_free_slots_go_to_the_best_true_public_scores_which_are_hidden_until_the_reveal(
    service, coarse, mode
):
    competition = coarse(mode, Step.OF_0_02, closes_at=service.now + 10 * HOUR)
    sent = send(service, competition, (1.5, 0.1, 1.51, 0.2))
    service.score(*sent)
    ids = [each.submission.id for each in sent]

    def choice() -> selections.CurrentSelection:
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


def test_withheld_values_include_the_score_itself():
    for mode in Feedback:
        for viewer in (Viewer.PUBLIC, Viewer.PARTICIPANT, Viewer.TEAM):
            seen = visible_fields(viewer, Phase.OPEN, mode)
            assert ("exact_score" in seen) is not mode.is_coarse
            assert ("public_score" in seen) is (mode is not Feedback.BLIND)
