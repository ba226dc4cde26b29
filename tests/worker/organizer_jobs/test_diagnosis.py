"""Diagnosis job: comparison of complete twins and pairs, omission of incomplete ones."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from grader.files import read_solution
from grader.files.solution.column_roles import ColumnRole
from grader.models import OrganizerJob
from grader.services.audit.log import Actor
from grader.services.competitions import lookup
from grader.services.moderation import diagnoses
from grader.services.solutions import intake
from grader.worker.organizer_jobs.worker import OrganizerWorker
from tests.fixtures.arena import WIDE_LIMITS
from tests.fixtures.competitions import publish_competition
from tests.fixtures.services import call

ROLES = {
    "id": ColumnRole.ID,
    "target": ColumnRole.LABEL,
    "cat": ColumnRole.IDENTITY,
    "pair": ColumnRole.PAIR,
    "role": ColumnRole.SLICE,
    "Usage": ColumnRole.USAGE,
}


def solution_rows(roles: tuple[str, str], *, is_complete: bool) -> list[tuple[Any, ...]]:
    """Return 200 scored rows and 40 ignored ones that form twenty pairs."""
    dice = random.Random(3)
    rows: list[tuple[Any, ...]] = [
        (f"s{row}", dice.randint(0, 1), dice.randint(0, 1), "", "", "Public" if row % 2 else "Private")
        for row in range(200)
    ]
    for pair in range(20):
        label, mentions = dice.randint(0, 1), dice.randint(0, 1)
        rows += [(f"{role}{pair}", label, mentions, pair, role, "Ignored") for role in roles]
    return rows if is_complete else rows[:-1]


def diagnosed(arena, rows: list[tuple[Any, ...]]):
    """Return the report on the public rows of a file that lowers the second role's predictions."""
    text = "\n".join(["id,target,cat,pair,role,Usage", *(",".join(map(str, row)) for row in rows)])
    solution = read_solution(text.encode(), roles=ROLES)
    stored = intake.store(arena.storage, solution, split_key=b"key", identities=("cat",))
    with arena.database.write() as session:
        publish_competition(
            session,
            slug="twins",
            title="Twins",
            overview="",
            solution=stored,
            opens_at=None,
            closes_at=None,
            **WIDE_LIMITS,
            actor=Actor(None, "tests"),
            now=arena.now(),
        )
    dice, ann = random.Random(4), arena.person("Ann")
    lines = [f"{row[0]},{row[1] + dice.random() - 2 * (row[4] in ('fuzzed', 'pro'))}" for row in rows]
    submission_id = arena.submit(ann, "\n".join(["id,prediction", *lines]).encode(), slug="twins")
    arena.score_all()
    with arena.database.write() as session:
        job = call(
            diagnoses.request,
            session,
            competition=lookup.get(session, slug="twins"),
            submission_id=submission_id,
            against_id=None,
            actor=Actor(None, "tests"),
            now=arena.now(),
        )
    assert OrganizerWorker(arena.settings, arena.database, arena.storage).run(job.id)
    with arena.database.read() as session:
        return diagnoses.reports(arena.storage, session.scalars(select(OrganizerJob)).one())["public"]


@pytest.fixture
def arena(make_arena: Callable[..., Any]):
    return make_arena()


def test_ignored_fuzzed_twins_are_compared_by_every_metric(arena):
    found = diagnosed(arena, solution_rows(("original", "fuzzed"), is_complete=True)).as_dict()
    shift = found["fuzzed"]["shifts"][0]
    assert (shift["rows"], shift["lowered"]) == (20, 20)
    assert "pairs" not in found


def test_pro_and_anti_pairs_have_a_rate(arena):
    found = diagnosed(arena, solution_rows(("anti", "pro"), is_complete=True)).as_dict()
    assert (found["pairs"]["rates"][0]["pairs"], found["pairs"]["rates"][0]["higher"]) == (20, 20)


def test_incomplete_pairs_are_omitted_with_a_message(arena):
    report = diagnosed(arena, solution_rows(("anti", "pro"), is_complete=False))
    assert "pairs" not in report.as_dict()
    assert "Pairs are omitted because they are incomplete" in report.facts
