"""Diagnosis page of a submission: request, computation, display, download."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from grader.models import Role, Score, Split

HERE = "/competitions/toxicity"


@pytest.fixture
def scene(make_arena: Callable[..., Any], database_url: str):
    """A competition with two scored submissions by Ann, and one organizer with each role."""
    arena = make_arena(database_url=database_url)
    arena.competition()
    arena.ann, arena.ed, arena.vic = (arena.person(name) for name in ("Ann", "Ed", "Vic"))
    for person, role in ((arena.ed, Role.EDITOR), (arena.vic, Role.VIEWER)):
        arena.give_role(person, role)
    arena.first = arena.submit(arena.ann, arena.truth.predictions(noise=2.0))
    arena.second = arena.submit(arena.ann, arena.truth.predictions(seed=2, noise=3.0))
    arena.score_all()
    return arena


def page_of(submission_id: int) -> str:
    return f"{HERE}/organize/submissions/{submission_id}/diagnosis"


def test_an_editor_requests_a_diagnosis_and_a_viewer_sees_it(scene):
    page = page_of(scene.first)
    assert page in scene.vic.browser.get(f"{HERE}/submissions/{scene.first}").text
    assert "There is no diagnosis yet" in scene.vic.browser.get(page).text
    assert scene.vic.browser.get(f"{page}.json").status_code == 404
    assert scene.vic.post(page).status_code == 403

    assert scene.ed.post(page).status_code == 303
    waiting = scene.vic.browser.get(page).text
    assert "Waiting for a worker" in waiting
    assert "data-live" in waiting
    scene.work()

    shown = scene.vic.browser.get(page).text
    assert '<svg class="chart"' in shown
    assert "black or african" in shown
    assert "200 rows (public)" in shown
    assert "style=" not in shown
    assert "200 rows (private)" in scene.vic.browser.get(f"{page}?split=private").text
    status = scene.vic.browser.get(f"{page}/status")
    assert status.json["is_final"]
    assert (
        scene.vic.browser.get(f"{page}/status", headers={"If-None-Match": status.headers["ETag"]}).status_code
        == 304
    )


def test_a_diagnosis_is_downloaded_as_json_and_html(scene):
    page = page_of(scene.first)
    scene.ed.post(page)
    scene.work()
    data = scene.vic.browser.get(f"{page}.json").json
    assert set(data) == {"public", "private"}
    public = data["public"]["score"]
    with scene.database.read() as session:
        stored = session.scalar(
            select(Score.score).where(Score.submission_id == scene.first, Score.split == Split.PUBLIC)
        )
    assert public["score"] == stored
    assert public["intervals"]["score"]["low"] < stored < public["intervals"]["score"]["high"]
    page_alone = scene.vic.browser.get(f"{page}.html?split=private")
    assert "Content-Security-Policy" in page_alone.text
    assert f"diagnosis-{scene.first}-private.html" in page_alone.headers["Content-Disposition"]


def test_a_submission_is_compared_with_another_one(scene):
    page = page_of(scene.first)
    assert scene.ed.post(page, {"against": str(scene.first)}).status_code == 409
    for typed, status in (("999", 404), ("the other", 400), ("2147483648", 400), ("\u0663", 400)):
        answer = scene.ed.post(page, {"against": typed})
        assert answer.status_code == status, typed
        assert 'class="notice bad"' in answer.text and f'value="{typed}"' in answer.text
    scene.ed.post(page, {"against": str(scene.second)})
    scene.work()
    assert f"#{scene.first} minus #{scene.second}" in scene.vic.browser.get(page).text
    comparison = scene.vic.browser.get(f"{page}.json").json["public"]["comparison"]
    assert (comparison["candidate"], comparison["baseline"]) == (f"#{scene.first}", f"#{scene.second}")
    overall = comparison["paired"][0]["overall_auc"]["difference"]
    assert overall > 0  # The baseline has more noise.
    assert f"{overall:+.5f}" in scene.vic.browser.get(page).text
    line = comparison["differences"][0]
    for cell, difference in line["differences"].items():
        assert difference == line["candidate"][cell] - line["baseline"][cell]


def test_a_submission_without_a_score_cannot_be_diagnosed(scene):
    rejected = scene.submit(scene.ann, b"id,prediction\n1,x\n")
    scene.score_all()
    answer = scene.ed.post(page_of(rejected))
    assert answer.status_code == 409
    assert "has no score" in answer.text


def test_only_organizers_see_a_diagnosis(scene):
    scene.ed.post(page_of(scene.first))
    scene.work()
    for path in ("", "/status", ".json", ".html"):
        assert scene.ann.browser.get(page_of(scene.first) + path).status_code == 403
    assert "diagnosis" not in scene.ann.browser.get(f"{HERE}/submissions/{scene.first}").text.lower()


def test_a_diagnosis_published_after_the_reveal_is_public(scene):
    page, public = page_of(scene.first), f"{HERE}/leaderboard/private/{scene.first}"
    scene.ed.post(page, {"against": str(scene.second)})
    scene.work()
    assert scene.ed.confirm(f"{page}/publish").status_code == 409
    scene.reveal()
    assert "compares two submissions" in scene.ed.confirm(f"{page}/publish").text
    scene.ed.post(page)
    scene.work()
    assert scene.ann.browser.get(f"{public}/diagnosis").status_code == 404
    assert scene.ed.post(f"{page}/publish").status_code == 409
    assert scene.vic.confirm(f"{page}/publish").status_code == 403
    assert scene.ed.confirm(f"{page}/publish").status_code == 303

    stranger = scene.app.test_client()
    assert f"{public}/diagnosis" in stranger.get(public).text
    shown = stranger.get(f"{public}/diagnosis?split=private").text
    assert "200 rows (private)" in shown
    assert "predictions.csv" not in shown
    assert "was published" in stranger.get(f"{HERE}/log").text
    assert scene.ed.confirm(f"{page}/publish").status_code == 409
