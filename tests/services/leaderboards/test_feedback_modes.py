"""Coarse feedback modes: displayed scores and standings."""

from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
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
from grader.services.leaderboards import shown_scores, submission_results, team_results
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


def bands(service, competition, version_id=None):
    """Return the lower end of each public score's band by submission, computed in decimals."""
    step = Decimal(competition.feedback_step.value)
    query = select(Score.submission_id, Score.score).where(
        Score.split == Split.PUBLIC,
        Score.scoring_version_id == (version_id or competition.live_scoring_version_id),
    )
    with service.database.read() as session:
        return {
            submission_id: int(Decimal(order.SCALE.text(order.SCALE.units(score))) // step * step * 100_000)
            for submission_id, score in session.execute(query)
        }


def public_standings(service):
    with service.database.read() as session:
        rows = session.scalars(select(Standing).where(Standing.split == Split.PUBLIC)).all()
        live = session.scalars(select(Competition.live_scoring_version_id)).one()
        return {
            row.team_id: (row.submission_id, row.score_units)
            for row in rows
            if row.scoring_version_id == live
        }


@given(units=st.integers(0, 100_000), step=st.sampled_from(Step))
def test_band_contains_its_score_and_starts_at_a_multiple_of_the_step(units, step):
    band, width = order.SCALE.band(units, float(step)), round(float(step) * 100_000)
    assert band % width == 0
    assert band <= units < band + width


@pytest.mark.parametrize("mode", [Feedback.TIERED, Feedback.BLIND])
def test_each_coarse_mode_ranks_a_team_by_its_displayed_score(service, coarse, mode):
    competition = coarse(mode)
    sent = send(service, competition)
    service.score(*sent)
    best = max(bands(service, competition).values())
    standings = list(public_standings(service).values())
    assert [units for _, units in standings] == ([] if mode is Feedback.BLIND else [best])


def test_first_file_of_a_band_represents_its_team(service, coarse):
    competition = coarse(Feedback.TIERED, Step.OF_0_05)
    same = [service.submit(competition, skill=0.5, after=place * HOUR) for place in range(3)]
    service.score(*reversed(same))
    ((submission_id, _),) = public_standings(service).values()
    assert submission_id == same[0].submission.id


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
        assert board_of(session, competition=own, now=service.now).rows == ()


def test_leaderboard_is_not_sorted_by_a_hidden_term(service, coarse):
    competition = coarse(Feedback.TIERED)
    service.score(*send(service, competition, (0.5,)))
    wanted = BoardRequest(sort="bpsn_auc")
    with service.database.read() as session:
        own = lookup.get(session, slug=competition.slug)
        with refused("hidden_column"):
            board_of(session, competition=own, now=service.now, request=wanted)


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


@pytest.mark.parametrize("mode", [Feedback.TIERED, Feedback.BLIND])
def test_team_sees_the_feedback_and_an_organizer_the_score(service, coarse, mode):
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
    if mode is Feedback.BLIND:
        assert (own.public, own.entry, own.rank) == (None, None, None)
    else:
        units = bands(service, competition)[submission.id]
        assert own.public is not None
        assert (own.public.score_units, own.public.terms, own.public.identities) == (units, {}, ())
        assert units % round(float(competition.feedback_step) * 100_000) == 0
        assert own.gain_units == units - max(
            bands(service, competition)[each.submission.id] for each in sent[:4]
        )


def test_withheld_values_include_the_score_itself():
    for mode in Feedback:
        for viewer in (Viewer.PUBLIC, Viewer.PARTICIPANT, Viewer.TEAM):
            seen = visible_fields(viewer, Phase.OPEN, mode)
            assert ("exact_score" in seen) is not mode.is_coarse
            assert ("public_score" in seen) is (mode is not Feedback.BLIND)
