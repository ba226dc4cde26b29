"""The final selection: up to N, pending ones too, until the close; and what would count and why."""

from datetime import timedelta
from typing import Any

import pytest

from grader.models import Submission, SubmissionKind
from grader.services import selections
from grader.services.selections import (
    Choice,
    NotSelectable,
    Reason,
    SelectionClosed,
    TooManySelected,
)
from grader.services.submissions import UnknownSubmission

MINUTE = timedelta(minutes=1)


def send(service: Any, competition: Any, *skills: float) -> list[int]:
    """Send and score files of rising skill; return their submissions' ids."""
    accepted = [
        service.submit(competition, seed=place, skill=skill, after=place * MINUTE)
        for place, skill in enumerate(skills)
    ]
    service.score(*accepted)
    return [each.submission.id for each in accepted]


def pick(service: Any, submission_id: int, **options: Any) -> Submission:
    options = {"user": service.user(), "now": service.now} | options
    with service.database.write() as session:
        return selections.select(session, submission_id=submission_id, **options)


def choice(service: Any, competition: Any, submission_id: int) -> Choice:
    with service.database.read() as session:
        team = session.get_one(Submission, submission_id).team
        return selections.would_count(session, competition=service.reload(competition), team=team)


def test_without_picks_the_best_public_scores_would_count(service: Any) -> None:
    competition = service.competition()
    low, high, middle = send(service, competition, 0.0, 3.0, 1.0)
    would = choice(service, competition, low)
    assert would.reasons == {high: Reason.AUTOMATIC, middle: Reason.AUTOMATIC}
    assert (would.limit, would.picked_ids, would.excess) == (2, (), 0)


def test_a_pick_counts_whatever_its_score_and_the_rest_is_filled(service: Any) -> None:
    competition = service.competition()
    low, high, _ = send(service, competition, 0.0, 3.0, 1.0)
    assert pick(service, low).is_selected
    assert choice(service, competition, low).reasons == {low: Reason.PICKED, high: Reason.AUTOMATIC}
    pick(service, low, is_selected=False)
    assert low not in choice(service, competition, low).reasons


def test_a_file_can_be_picked_while_it_waits_and_keeps_its_place(service: Any) -> None:
    competition = service.competition()
    _, high, _ = send(service, competition, 0.0, 3.0, 1.0)
    waiting = service.submit(competition, seed=99)
    pick(service, waiting.submission.id)
    would = choice(service, competition, high)
    assert would.reasons == {high: Reason.AUTOMATIC, waiting.submission.id: Reason.PICKED_WAITING}


def test_a_picked_file_that_is_rejected_frees_its_place(service: Any) -> None:
    competition = service.competition()
    _, high, middle = send(service, competition, 0.0, 3.0, 1.0)
    bad = service.submit(competition, csv=b"nonsense")
    pick(service, bad.submission.id)
    service.score(bad)
    would = choice(service, competition, high)
    assert would.reasons == {high: Reason.AUTOMATIC, middle: Reason.AUTOMATIC}
    assert would.picked_ids == ()
    pick(service, bad.submission.id, is_selected=False)
    with pytest.raises(NotSelectable, match="was rejected"):
        pick(service, bad.submission.id)


def test_more_than_the_limit_cannot_be_picked(service: Any) -> None:
    competition = service.competition(selection_count=1)
    first, second = send(service, competition, 0.0, 3.0)
    pick(service, first)
    pick(service, first)  # twice is once
    with pytest.raises(TooManySelected, match=f"At most 1 submission can be selected, and #{first} is"):
        pick(service, second)


def test_after_a_merge_too_many_picks_are_told_and_the_best_count(service: Any) -> None:
    competition = service.competition()
    low, high, middle = send(service, competition, 0.0, 3.0, 1.0)
    with service.database.write() as session:
        for submission_id in (low, high, middle):
            session.get_one(Submission, submission_id).is_selected = True
    would = choice(service, competition, low)
    assert would.excess == 1
    assert would.reasons == {high: Reason.PICKED, middle: Reason.PICKED}


def test_picks_end_with_the_competition(service: Any) -> None:
    competition = service.competition(closes_at=service.now + 60 * MINUTE)
    (only,) = send(service, competition, 1.0)
    pick(service, only, now=service.now + 59 * MINUTE)
    with pytest.raises(SelectionClosed, match="closed with the competition"):
        pick(service, only, is_selected=False, now=service.now + 60 * MINUTE)


def test_files_out_of_competition_cannot_be_picked(service: Any) -> None:
    (only,) = send(service, service.competition(), 1.0)
    with service.database.write() as session:
        session.get_one(Submission, only).kind = SubmissionKind.HIDDEN
    with pytest.raises(NotSelectable, match="does not compete"):
        pick(service, only)


def test_another_teams_file_is_unknown(service: Any) -> None:
    (only,) = send(service, service.competition(), 1.0)
    with pytest.raises(UnknownSubmission):
        pick(service, only, user=service.user("eve"))
