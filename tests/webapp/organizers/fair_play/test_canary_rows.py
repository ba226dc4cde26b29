"""Canary rows on the Fair play page: files that follow the coins, and marks."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from grader.files import read_solution
from grader.models import Role
from grader.services.audit.log import Actor
from grader.services.competitions.metric import MetricChoice
from grader.services.solutions import assessment, intake
from grader.services.solutions.canary_rows import CanaryRequest
from tests.fixtures.arena import WIDE_LIMITS
from tests.fixtures.competitions import publish_competition
from webapp.organizers.fair_play.views import once_in

HERE = "/competitions/toxicity"
PAGE = f"{HERE}/organize/fair-play"


@pytest.fixture
def scene(make_arena: Callable[..., Any]):
    """A competition with canary rows, an honest team, and a team that submits leaked labels."""
    arena = make_arena()
    read = read_solution(arena.truth.solution())
    assessed = assessment.assess(
        read,
        split_key=b"split",
        choice=MetricChoice(min_class_rows=3),
        canaries=CanaryRequest(count=20, from_scored=True),
    )
    with arena.database.write() as session:
        competition = publish_competition(
            session,
            slug="toxicity",
            solution=intake.keep(arena.storage, assessed),
            actor=Actor.shell(),
            now=arena.now(),
            **WIDE_LIMITS,
        )
        arena.canaries = competition.live_scoring_version.solution.canaries
    arena.ed, ann, mal = (arena.person(name) for name in ("Ed", "Ann", "Mal"))
    arena.give_role(arena.ed, Role.EDITOR)
    arena.ann, arena.mal = ann, mal
    arena.submit(ann, arena.truth.predictions())
    rows = zip(read.row_ids, np.asarray(assessed.truth.labels).tolist(), strict=True)
    leaked = "\n".join(["id,prediction", *(f"{row_id},{label}" for row_id, label in rows)])
    arena.leaked = arena.submit(mal, leaked.encode())
    arena.score_all()
    return arena


def scan(arena) -> str:
    assert arena.ed.post(PAGE).status_code == 303
    arena.work()
    page: str = arena.ed.browser.get(PAGE).text
    return page


def test_a_file_that_follows_the_coins_is_listed_with_its_chance_and_can_be_marked(scene):
    page = scan(scene).partition('id="canaries"')[2].partition('id="alike"')[0]

    assert "20 canary rows, which do not affect any score" in page and "one in 180,000 honest files" in page
    assert f"#{scene.leaked}" in page and "Mal" in page and "Ann" not in page
    assert "Of the 100 pairs of canary rows" in page and "orders 100 in agreement with these labels" in page
    assert "2 files were analyzed" in page and "1 in 92,000" in page
    answer = scene.app.test_client().get(f"/api/v1{PAGE}", headers=scene.ed.bearer).json["canaries"]
    [file] = answer["files"]
    assert (answer["rows"], file["submission_id"], file["as_drawn"]) == (20, scene.leaked, 100)
    assert scene.ed.post(f"{PAGE}/marks", {"line": file["line"], "reason": "A test."}).status_code == 303
    assert "A test." in scene.ed.browser.get(PAGE).text


def test_no_page_shows_canary_rows_before_the_solution_is_published(scene):
    page = scan(scene)
    assert "usage_before" not in page and scene.canaries.splitlines()[1] not in page
    for path in (f"{HERE}/data/solution-canaries.csv", f"/api/v1{HERE}/solution-canaries"):
        for person in (scene.ed, scene.ann):
            assert person.browser.get(path, headers=person.bearer).status_code == 404
    assert scene.mal.browser.get(PAGE).status_code == 403


def test_the_list_is_downloaded_with_the_published_solution(scene):
    scene.reveal()
    close = f"{HERE}/organize/close"
    assert scene.ed.post(f"{close}/solution", {"confirm": "yes"}).status_code == 303
    stranger = scene.app.test_client()
    assert stranger.get(f"{HERE}/data/solution-canaries.csv").text == scene.canaries
    assert stranger.get(f"/api/v1{HERE}/solution-canaries").text == scene.canaries
    assert "labels were altered" in stranger.get(f"{HERE}/data").text
    assert "20 of its labels were random" in stranger.get(f"{HERE}/log").text
    assert "solution-canaries.csv" in scene.ed.browser.get(close).text


@pytest.mark.parametrize(
    ("chance", "words"),
    [
        (1.0, "1"),
        (0.013, "76"),
        (1 / 184_756, "180,000"),
        (1 / 5_230_000, "5 million"),
        (1 / 137_846_528_820, "130 billion"),
        (1e-17, "100 quadrillion"),
        (1e-29, "more than a quintillion"),
    ],
)
def test_a_chance_in_words_never_overstates_its_rarity(chance: float, words: str):
    assert once_in(chance) == words
