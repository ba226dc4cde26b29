"""Feedback modes: responses independent of the withheld scores.

After a world's history, the withheld values are exchanged between submissions, and every page, export and API
response that reads the table of scores is requested again. The values that the mode shows are not exchanged:
the scores themselves or, in `tiered` mode, their bands.
"""

import re
from collections.abc import Collection
from typing import Any

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
from grader.services.leaderboards import rows
from grader.visibility import Feedback
from tests.fixtures.walks import Reads, walk
from tests.fixtures.worlds import SLUG, Truth

pytestmark = pytest.mark.system

FORM_TOKEN = re.compile(r'(?<=name="csrf_token" )[^>]+')
Asked = tuple[str, str]  # the role and the request
NAMES = {"public": None, "participant": "Bob", "leader": "Ann"}
EVERYTHING = ("score", "evidence", "errors", "terms")
WITHHELD = {
    Feedback.SCORE: ("evidence", "terms"),
    Feedback.TIERED: EVERYTHING,
    Feedback.BLIND: EVERYTHING,
}


@pytest.fixture(scope="module")
def begun(make_world):
    """A world with a long history in an open competition."""
    world = make_world(Truth.first())
    world.begin()
    return world


@pytest.fixture
def world(begun):
    """The world with the open competition; changes by a test are undone."""
    with begun.undone():
        yield begun


def test_withheld_values_change_nothing_before_the_reveal(world):
    _assert_that_what_is_withheld_changes_nothing(world)


@pytest.mark.long
def test_withheld_values_change_nothing_in_a_closed_competition_and_everything_after_the_reveal(world):
    world.close()
    world.settle()
    _assert_that_what_is_withheld_changes_nothing(world)
    world.reveal()
    for feedback, columns in WITHHELD.items():
        before, after, _ = _before_and_after(world, columns, feedback)
        assert {role for role, asked in after if before[role, asked] != after[role, asked]} == set(NAMES)


def test_each_mode_shows_the_promised_values(world):
    ann, root, api = world.people["Ann"], world.people["Root"], world.arena.app.test_client()

    def own(person=ann):
        return api.get("/api/v1/submissions/1", headers=person.bearer).json

    def board():
        return api.get(f"/api/v1/competitions/{SLUG}/leaderboard").json["rows"]

    exact = own(root)["public_score"]
    _set(world, Feedback.SCORE)
    assert (own()["terms"], own()["identities"], own()["public_score"]) == (None, None, exact)
    assert board() and all(row["score"] > 0 and row["terms"] is None for row in board())
    csv = api.get(f"/competitions/{SLUG}/leaderboard.csv").text
    assert csv.splitlines()[0] == "rank,team,division,members,score,entries,last_submitted_at,rank_change"
    assert "weakest term" not in ann.browser.get(f"/competitions/{SLUG}/submissions/1").text.lower()
    _set(world, Feedback.TIERED)
    assert own()["public_score"] == pytest.approx(exact // 0.002 * 0.002, abs=1e-9)
    assert (own()["terms"], own()["identities"]) == (None, None)
    assert "bands of 0.002" in ann.browser.get(f"/competitions/{SLUG}/leaderboard").text
    assert api.get("/api/v1/submissions/1/receipt", headers=ann.bearer).json["splits"] == {}
    _set(world, Feedback.BLIND)
    assert (own()["public_score"], board()) == (None, [])
    assert "not shown" in ann.browser.get(f"/competitions/{SLUG}/submissions").text


def _assert_that_what_is_withheld_changes_nothing(world):
    """Requests that read nothing that depends on the mode are sent in one mode only."""
    only: Collection[Asked] | None = None
    for feedback, columns in WITHHELD.items():
        before, after, read = _before_and_after(world, columns, feedback, only=only)
        only = read if only is None else only
        for key, text in after.items():
            assert text == before[key], (feedback, key)


def _before_and_after(world, columns, feedback, *, only=None):
    """Return all responses and, after exchanging the values, the new responses of those that read scores.

    Also return the requests that read a table in which something depends on the mode.
    """
    _set(world, feedback)
    walks, dice = [], world.dice.getstate()
    with Reads(world, *(model.__tablename__ for model in (Score, Competition, Standing))) as reads:
        for columns_now in ((), columns):
            with world.undone():
                _rotate(world, columns_now)
                world.dice.seed(2)  # No token from the creation of the world is used again.
                told = walk(world, NAMES, posts=(), queries=False, desks=(), only=only, reads=reads)
                walks.append(
                    {asked: FORM_TOKEN.sub("the form's token", text) for asked, text in told.items()}
                )
                world.dice.setstate(dice)
            only = frozenset(reads.found[Score.__tablename__])
    return walks[0], walks[1], frozenset().union(*reads.found.values())


def _rotate(world, columns):
    """Rotate these values among the public scores; benchmarks keep their `score`, which is shown.

    In `tiered` mode, each score moves to the lower end of its band instead. The standard errors of all paired
    differences become 0.
    """
    with world.arena.database.write() as session:
        competition = lookup.get(session, slug=SLUG)
        query = select(Score).where(Score.split == Split.PUBLIC).order_by(Score.id)
        everybodys = session.scalars(query).all()
        teams = session.scalars(
            query.join(Submission, Submission.id == Score.submission_id).where(
                Submission.kind != SubmissionKind.BENCHMARK
            )
        ).all()
        for column in columns:
            scores = teams if column == "score" else everybodys
            values: list[Any] = [getattr(score, column) for score in scores]
            if column == "score" and competition.feedback is Feedback.TIERED:
                step = float(competition.feedback_step)
                values = [order.SCALE.band(order.SCALE.units(value), step) / 100_000 for value in values]
                values.insert(0, values.pop())
            for score, value in zip(scores, values[1:] + values[:1], strict=True):
                setattr(score, column, value)
        session.flush()
        if columns:  # The values of named leaderboards have changed too.
            _write_public(session, competition)


def _set(world, feedback):
    with world.arena.database.write() as session:
        competition = lookup.get(session, slug=SLUG)
        competition.feedback = feedback
        session.flush()
        _write_public(session, competition)


def _write_public(session, competition):
    version_id = lookup.live(competition).id
    rows.write(session, competition=competition, scoring_version_id=version_id, splits=[Split.PUBLIC])
