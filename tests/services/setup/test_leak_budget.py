"""Leak budget and safe step: files, solution counts, warnings."""

from datetime import timedelta

import pytest

from grader.feedback.ladder import safe_step as nearest_step
from grader.models import Competition
from grader.services.audit.log import Actor
from grader.services.competitions import lookup, settings_warnings
from grader.services.competitions import settings as competition_settings
from grader.services.setup import drafts, leak_budget
from grader.services.setup.leak_budget import Leaks
from grader.visibility import Feedback, Step

DAY = timedelta(days=1)


def leaks(service, competition: Competition, after: timedelta = timedelta()) -> Leaks:
    found = service.reload(competition)
    return leak_budget.of(found, competition_settings.of(found), now=service.now + after)


def test_each_mode_has_a_budget_from_the_solutions_counts_and_the_dates(service):
    made = service.competition(
        opens_at=service.now,
        closes_at=service.now + 9 * DAY,
        max_daily_submissions=2,
        max_total_submissions=None,
        feedback=Feedback.NOISED,
    )
    found = leaks(service, made)
    assert (found.files, found.files_from_now) == (20, 20)
    assert set(found.budgets) == set(Feedback)
    assert found.chosen is found.budgets[Feedback.NOISED]
    report = service.reload(made).live_scoring_version.solution.report
    assert [
        (each.public.name, each.public.positives) for each in found.budgets[Feedback.OPEN].identities
    ] == [(line["name"], line["public"]["positives"]) for line in report["identities"] if line["in_score"]]


def test_remaining_files_decrease_until_the_close_within_a_total_limit(service):
    dates = {"opens_at": service.now + DAY, "closes_at": service.now + 5 * DAY}
    made = service.competition(**dates, max_daily_submissions=2, max_total_submissions=7)
    counts = [leaks(service, made, days * DAY) for days in (0, 1, 3, 5, 6)]
    assert [each.files for each in counts] == [7] * 5
    assert [each.files_from_now for each in counts] == [7, 7, 6, 2, 0]


def test_without_limits_or_without_a_solution_there_is_no_budget(service):
    made = service.competition(max_daily_submissions=5, max_total_submissions=None)
    assert (leaks(service, made).files, leaks(service, made).chosen) == (None, None)
    with service.database.write() as session:
        source = lookup.get(session, slug=made.slug)
        draft = drafts.clone(session, source=source, slug="next", actor=Actor(None, "tests"), now=service.now)
        draft.max_total_submissions = 9
    assert (leaks(service, draft).files, leaks(service, draft).budgets) == (9, {})


def test_step_below_the_proposed_one_is_warned_about_in_modes_with_a_step(service):
    made = service.competition(feedback=Feedback.TIERED, feedback_step=Step.OF_0_0005)
    proposal = settings_warnings.proposed_step(service.reload(made))
    assert proposal.step is nearest_step(proposal.by_chance)
    assert proposal.step is not Step.OF_0_0005
    assert f"a step of {proposal.step} is recommended" in proposal.sentence
    (fault,) = settings_warnings.small_step_warnings(service.reload(made))
    assert fault.names == ("feedback_step",)
    assert fault.sentence.startswith("A step of 0.0005 is too small for this solution: two good models")
    assert fault.sentence.endswith(f"The recommended step is {proposal.step}.")


@pytest.mark.parametrize(
    "chosen",
    [
        {"feedback": Feedback.BLIND, "feedback_step": Step.OF_0_0005},
        {"feedback": Feedback.OPEN, "feedback_step": Step.OF_0_0005},
        {"feedback": Feedback.LADDER, "feedback_step": Step.OF_0_05},
    ],
)
def test_mode_without_a_step_and_a_wide_step_cause_no_warning(service, chosen):
    assert settings_warnings.small_step_warnings(service.reload(service.competition(**chosen))) == []


def test_report_without_an_error_proposes_nothing():
    assert settings_warnings.proposed_step_of({}) is None
    assert settings_warnings.proposed_step_of({"splits": {"public": {"score_error": None}}}) is None
