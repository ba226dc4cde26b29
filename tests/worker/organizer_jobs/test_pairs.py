"""Paired differences: brute-force oracle, scheduling, interruptions, unreadable files, display."""

import re
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sqlalchemy import delete, func, select, update

from grader import db
from grader.models import (
    JobState,
    OrganizerJob,
    OrganizerJobKind,
    Role,
    Score,
    ScoringVersion,
    Split,
    StoredDifference,
    Submission,
)
from grader.services.audit.log import Actor
from grader.services.competitions import acting, lookup
from grader.services.leaderboards import paired_differences, tied_teams
from grader.services.moderation import decisions
from grader.visibility import Feedback, Field
from grader.worker.organizer_jobs import analysis
from grader.worker.organizer_jobs.context import Work, WorkLost
from grader.worker.scheduled_tasks import Calendar
from tests.fixtures.arena import main_text

HERE, API = "/competitions/toxicity", "/api/v1/competitions/toxicity"
TIED = ">tied</small>"


@pytest.fixture
def scene(make_arena: Callable[..., Any]):
    """Ann with three files, of which the second is hardly better, and two other teams."""
    arena = make_arena()
    arena.competition()
    arena.ann, arena.bob, arena.cem, arena.ed = (arena.person(name) for name in ("Ann", "Bob", "Cem", "Ed"))
    arena.give_role(arena.ed, Role.EDITOR)
    arena.files = [
        arena.submit(person, arena.truth.predictions(noise=noise, seed=seed))
        for person, noise, seed in (
            (arena.ann, 20.0, 1),
            (arena.ann, 2.0, 2),
            (arena.bob, 2.0, 5),
            (arena.ann, 2.0, 7),
            (arena.cem, 60.0, 9),
        )
    ]
    arena.score_all()
    return arena


def compare(arena):
    """Run the scheduled tasks and the jobs that they add."""
    Calendar(arena.database).run_due()
    arena.work()


def stored(arena) -> dict[tuple[Split, int, int], StoredDifference]:
    with arena.database.read() as session:
        rows = session.scalars(select(StoredDifference)).all()
    return {(row.split, row.submission_id, row.baseline_id): row for row in rows}


def jobs(arena) -> list[OrganizerJob]:
    with arena.database.read() as session:
        return list(session.scalars(select(OrganizerJob).where(OrganizerJob.kind == OrganizerJobKind.PAIRS)))


def scores(arena, split: Split = Split.PUBLIC) -> dict[int, float]:
    with arena.database.read() as session:
        rows = session.execute(select(Score.submission_id, Score.score).where(Score.split == split))
        return dict(rows.all())


def set_feedback(arena, feedback: Feedback):
    with arena.database.write() as session:
        lookup.get(session, slug="toxicity").feedback = feedback


def test_files_are_compared_with_the_previous_best_and_neighbors_with_each_other(scene):
    compare(scene)
    one, two, three, four, five = scene.files
    public = scores(scene)
    best = max((two, four), key=public.get)
    previous = {one: one, two: one, three: three, four: two, five: five}
    board = sorted((best, three, five), key=lambda each: -public[each])
    expected = {(split, *pair) for split in Split for pair in previous.items()}
    expected |= {(Split.PUBLIC, above, below) for above, below in pairwise(board)}
    assert stored(scene).keys() == expected
    for (split, submission, baseline), row in stored(scene).items():
        exact = scores(scene, split)
        if submission == baseline:
            assert row.value is None and row.standard_error is None
        else:
            assert row.value == pytest.approx(exact[submission] - exact[baseline], abs=1e-12)
            assert row.standard_error > 0


def test_standard_error_is_that_of_the_bootstrap_over_the_same_rows(scene):
    """The oracle resamples rows within the classes and recomputes both scores from all pairs of rows."""
    compare(scene)
    with scene.database.read() as session:
        version = session.scalars(select(ScoringVersion)).one()
        _ = version.solution
        hashes = dict(session.execute(select(Submission.id, Submission.sha256)).all())
    prepared = analysis.PreparedSolution.of(scene.storage, version.metric_settings, version.solution)
    live = analysis.LiveSolution.load(scene.storage, version)
    metric, split = prepared.metric, Split.PUBLIC
    rows = live.truth.rows(split)
    columns, one, two = live.truth.columns, *scene.files[:2]
    encoded = [
        metric.encode(
            analysis.read_submission(
                scene.storage.read(hashes[each]), live.row_ids, wanted=prepared.submission
            ).columns
        )
        for each in (two, one)
    ]
    dice, drawn = np.random.default_rng(1), []
    for _ in range(300):
        chosen = metric.prepare(columns, np.sort(dice.choice(rows, rows.size)))
        drawn.append(np.subtract(*(metric.score(chosen, each).score for each in encoded)))
    row = stored(scene)[split, two, one]
    assert row.standard_error == pytest.approx(np.std(drawn), rel=0.2)


def test_a_job_is_added_only_when_something_has_not_been_compared(scene):
    calendar = Calendar(scene.database)
    compare(scene)
    first = jobs(scene)
    calendar.run_due()
    assert [job.id for job in jobs(scene)] == [job.id for job in first]
    new = scene.submit(scene.bob, scene.truth.predictions(noise=1.0, seed=11))
    scene.score_all()
    calendar.run_due()
    calendar.run_due()
    assert [job.state for job in jobs(scene)] == [JobState.WAITING]
    scene.work()
    assert (Split.PUBLIC, new, scene.files[2]) in stored(scene)
    calendar.run_due()
    assert [job.state for job in jobs(scene)] == [JobState.DONE]


def test_a_decision_of_organizers_compares_the_new_neighbors(scene):
    compare(scene)
    with scene.database.write() as session:
        act = acting.begin(session, competition=lookup.get(session, slug="toxicity"), actor=Actor.shell())
        decisions.disqualify(act, team="Bob", reason="Why")
    compare(scene)
    with scene.database.read() as session:
        version = lookup.live(lookup.get(session, slug="toxicity"))
        ann, cem = tied_teams.places(session, scoring_version_id=version.id, split=Split.PUBLIC)
    assert (Split.PUBLIC, ann.submission_id, cem.submission_id) in stored(scene)


def test_an_interrupted_job_continues_and_a_failed_one_is_repeated_after_a_day(scene):
    calendar = Calendar(scene.database)
    calendar.run_due()
    (job,) = jobs(scene)
    answers = iter([True, False])
    work = Work(
        job_id=job.id,
        competition_id=job.competition_id,
        parameters=job.parameters,
        settings=scene.settings,
        database=scene.database,
        storage=scene.storage,
        write_progress=lambda _: True,
        write_kept=lambda _: next(answers),
        kept={},
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("grader.worker.organizer_jobs.context.KEEP_SECONDS", 0)
        patch.setattr(analysis, "STORE_SECONDS", 0)
        with pytest.raises(WorkLost):
            analysis.compare_pairs(work)
    before = stored(scene)
    assert len(before) == 2
    scene.work()
    after = stored(scene)
    assert before.keys() < after.keys() and all(after[key].id == row.id for key, row in before.items())
    for days, states in ((0, [JobState.FAILED]), (2, [JobState.WAITING])):
        with scene.database.write() as session:
            session.execute(delete(StoredDifference))
            failed = session.scalars(select(OrganizerJob)).one()
            failed.state, failed.finished_at = JobState.FAILED, db.now(session) - timedelta(days=days)
        calendar.run_due()
        assert [each.state for each in jobs(scene)] == states


def test_a_file_that_cannot_be_read_has_no_difference_and_does_not_fail_the_job(scene):
    with scene.database.read() as session:
        sha256 = session.get_one(Submission, scene.files[1]).sha256
    scene.storage.delete(sha256)
    compare(scene)
    assert [job.state for job in jobs(scene)] == [JobState.DONE]
    found = stored(scene)
    assert found[Split.PUBLIC, scene.files[1], scene.files[0]].standard_error is None
    assert "paired test" not in scene.ann.browser.get(f"{HERE}/submissions/{scene.files[1]}").text
    Calendar(scene.database).run_due()
    assert [job.state for job in jobs(scene)] == [JobState.DONE]


@pytest.mark.parametrize(
    ("error", "shown"),
    [(4.6e-4, "0.0005"), (1.23e-4, "0.00012"), (1e-9, "0.00001"), (0.0, "0.00001"), (9.6e-3, "0.010")],
)
def test_standard_errors_have_no_more_decimals_than_the_score(scene, error: float, shown: str):
    compare(scene)
    with scene.database.write() as session:
        is_computed = StoredDifference.value.is_not(None)
        session.execute(update(StoredDifference).where(is_computed).values(standard_error=error))
    two = scene.files[1]
    with scene.database.read() as session:
        submission = session.get_one(Submission, two)
        version, allowed = lookup.live(submission.competition), set(Field)
        ids = two, scene.files[0]
        change = paired_differences.of_pair(session, ids, version=version, allowed=allowed)
    public = {number: round(score, 5) for number, score in scores(scene).items()}
    assert change.value == f"{public[two] - public[scene.files[0]]:+.5f}"
    assert (change.standard_error, change.baseline_id) == (shown, scene.files[0])
    assert change.is_clear == (float(change.value) > 2 * float(shown))


def test_a_submission_states_whether_its_change_is_within_chance(scene):
    one, two, _, four, _ = scene.files
    page = f"{HERE}/submissions/{{}}".format
    assert "paired test" not in scene.ann.browser.get(page(two)).text
    assert "within chance" not in scene.ann.browser.get(HERE).text
    compare(scene)
    home = main_text(scene.ann.browser.get(HERE))
    assert re.search(r"#4 0\.\d{5} .*; [+-]0\.\d{5} ± 0\.\d+ against #2, within chance", home)
    assert "in a paired test: more than chance explains" in scene.ann.browser.get(page(two)).text
    assert "in a paired test: within chance" in scene.ann.browser.get(page(four)).text
    assert "paired test" not in scene.ann.browser.get(page(one)).text
    for ids in ((two, one), (one, two)):
        query = "?candidate={}&baseline={}".format(*ids)
        compared = scene.ann.browser.get(f"{HERE}/submissions/compare{query}").text
        assert "in a paired test: more than chance explains" in compared
    query = f"?candidate={four}&baseline={one}"
    assert "paired test" not in scene.ann.browser.get(f"{HERE}/submissions/compare{query}").text


def test_the_leaderboard_marks_neighbors_within_chance(scene):
    assert TIED not in scene.ann.browser.get(f"{HERE}/leaderboard").text
    compare(scene)
    page = scene.app.test_client().get(f"{HERE}/leaderboard").text
    assert page.count(TIED) == 1 and page.count("tie-up") == page.count("tie-down") == 1
    assert "at most two standard errors" in page
    rows = scene.app.test_client().get(f"{API}/leaderboard").json["rows"]
    assert [row["is_tied"] for row in rows] == [False, True, False]


@pytest.mark.parametrize("feedback", [Feedback.SCORE, Feedback.TIERED, Feedback.BLIND])
def test_other_modes_show_no_differences_before_the_reveal(scene, feedback: Feedback):
    compare(scene)
    set_feedback(scene, feedback)
    two, one = scene.files[1], scene.files[0]
    pages = (f"submissions/{two}", f"submissions/compare?candidate={two}&baseline={one}", "leaderboard")
    for each in pages:
        text = scene.ann.browser.get(f"{HERE}/{each}").text
        assert "paired test" not in text and TIED not in text
    assert not any(row["is_tied"] for row in scene.ann.browser.get(f"{API}/leaderboard").json["rows"])
    if feedback is Feedback.SCORE:
        assert TIED in scene.ed.browser.get(f"{HERE}/leaderboard").text


def test_another_scoring_version_is_compared_again(scene):
    compare(scene)
    with scene.database.read() as session:
        version = lookup.live(lookup.get(session, slug="toxicity"))
        assert paired_differences.missing(session, version=version) == []
    with scene.database.write() as session:
        job = session.scalars(select(OrganizerJob)).one()
        job.parameters = {"scoring_version_id": version.id + 1}
    with scene.database.read() as session:
        assert len(paired_differences.due(session, now=db.now(session))) == 1
        assert session.scalar(select(func.count(StoredDifference.id))) == len(stored(scene))
