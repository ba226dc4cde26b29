"""Data files and benchmarks in the browser."""

import html
import io
from datetime import timedelta

import pytest

from grader.services.competitions import lookup
from grader.services.solutions import data_files
from tests.fixtures.refusals import refused

HERE = "/competitions/toxicity/organize"
DAY = timedelta(days=1)


def test_a_solution_uploaded_as_data_is_held_back_until_the_box_is_ticked(arena, root):
    ann = arena.person("Ann")
    arena.competition()
    address = "/competitions/toxicity/data/files/extra.csv"
    solution = arena.truth.solution().replace(b"toxicity", b"x1")
    root.post(f"{HERE}/data", {"file": (io.BytesIO(solution), "extra.csv")})
    page = root.browser.get(f"{HERE}/data")
    assert "waiting for its check" in page.text and "data-live=" in page.text
    polled = {"Accept": "application/json"}
    assert root.browser.get(f"{HERE}/data", headers=polled).json["is_final"] is False
    arena.work()
    assert root.browser.get(f"{HERE}/data", headers=polled).json["is_final"] is True
    page = html.unescape(root.browser.get(f"{HERE}/data").text)
    assert "held back" in page and "Column 'x1' agrees with the label" in page
    assert ann.browser.get(address).status_code == 503
    assert root.browser.get(address).data == solution  # Organizers can always download it.
    refused = root.post(f"{HERE}/data/extra.csv/allow", {"reason": "Why so"})
    assert refused.status_code == 409 and 'value="Why so"' in refused.text  # The reason is kept.
    assert root.post(f"{HERE}/data/extra.csv/check").status_code == 303
    arena.work()
    assert ann.browser.get(address).status_code == 503
    assert root.confirm(f"{HERE}/data/extra.csv/allow").status_code == 303
    assert ann.browser.get(address).data == solution
    audit = root.browser.get(f"{HERE}/audit").text
    assert "data.allow</code> data file extra.csv" in audit


def test_participants_who_accepted_the_rules_can_download_data_files_from_the_opening(arena, root):
    ann, stranger = arena.person("Ann"), arena.app.test_client()
    arena.competition(opens_at=arena.now() + DAY, rules="Be fair.")
    file = {"file": (io.BytesIO(b"id,comment_text\n1,hi\n"), "train.csv"), "description": "To learn from"}
    json = {"Accept": "application/json"}
    assert root.post(f"{HERE}/data", file, headers=json).json["location"] == f"{HERE}/data"
    address = "/competitions/toxicity/data/files/train.csv"
    assert root.browser.get(address).data == b"id,comment_text\n1,hi\n"
    assert ann.browser.get(address).status_code == 403
    with arena.database.write() as session:
        lookup.get(session, slug="toxicity").opens_at = arena.now() - DAY
    assert ann.browser.get(address).status_code == 403
    ann.post("/competitions/toxicity/join", {"accepted_rules_version": "1"})
    assert ann.browser.get(address).status_code == 503
    page = ann.browser.get("/competitions/toxicity/data").text
    assert "being checked" in page and f'href="{address}"' not in page
    arena.work()
    answer = ann.browser.get(address)
    assert answer.data == b"id,comment_text\n1,hi\n"
    assert "attachment" in answer.headers["Content-Disposition"]
    assert stranger.get(address).status_code == 302
    page = ann.browser.get("/competitions/toxicity/data").text
    assert "To learn from" in page and f'href="{address}"' in page


@pytest.mark.parametrize("name", ["sample_submission.csv", "..", "<b>.csv"])
def test_a_file_name_that_cannot_be_in_a_url_is_rejected(name):
    with refused("invalid_data_file"):
        data_files.checked_name(name)


def test_a_data_file_is_replaced_and_removed(arena, root):
    arena.competition()
    for content in (b"old", b"new"):
        root.post(f"{HERE}/data", {"file": (io.BytesIO(content), "test.csv"), "description": "Test"})
    assert root.browser.get("/competitions/toxicity/data/files/test.csv").data == b"new"
    assert root.confirm(f"{HERE}/data/test.csv/remove").status_code == 303
    assert root.browser.get("/competitions/toxicity/data/files/test.csv").status_code == 404
    assert root.confirm(f"{HERE}/data/test.csv/remove").status_code == 404


def test_a_baseline_becomes_a_benchmark_after_its_check(arena, root):
    arena.competition()
    answer = root.post(f"{HERE}/data/baseline", {"file": (io.BytesIO(b"id,prediction\n1,0\n"), "b.csv")})
    assert answer.status_code == 422
    file = io.BytesIO(arena.truth.predictions(noise=2.0))
    answer = root.post(f"{HERE}/data/baseline", {"file": (file, "b.csv"), "name": "Word counts"})
    assert answer.status_code == 303, answer.text
    arena.score_all()
    assert "Word counts" in arena.app.test_client().get("/competitions/toxicity/leaderboard").text
