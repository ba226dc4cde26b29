"""Submission that counts on the private leaderboard: hidden until the reveal."""

import pytest

HERE = "/competitions/toxicity/leaderboard/private"
API = f"/api/v1{HERE}"
AUCS = {"subgroup_auc", "bpsn_auc", "bnsp_auc"}
IDENTITIES = ("male", "female", "black or african")
GAPS = {"positive_aeg", "negative_aeg"}


@pytest.fixture
def played(arena):
    """Ann has three submissions, the third with the worst public score, and Bob has one."""
    arena.competition()
    ann, bob = arena.person("Ann"), arena.person("Bob")
    sent = {
        "ann": arena.submit(ann, arena.truth.predictions(noise=1.5, seed=3)),
        "ann too": arena.submit(ann, arena.truth.predictions(noise=1.8, seed=4)),
        "ann's worst": arena.submit(ann, arena.truth.predictions(noise=9, seed=5)),
        "bob": arena.submit(bob, arena.truth.predictions(noise=2.0, seed=6)),
    }
    arena.score_all()
    return sent


def test_after_the_reveal_everyone_sees_the_tables_of_the_submissions_that_counted(arena, played):
    arena.competition("other")
    arena.reveal()
    arena.reveal("other")
    browser = arena.app.test_client()
    shown = browser.get(f"{API}/{played['bob']}").json
    assert (shown["team"], shown["rank"], shown["team_count"]) == ("Bob", 2, 2)
    for split in ("public", "private"):
        assert [row["name"] for row in shown[split]["identities"]] == list(IDENTITIES)
        assert all(row.keys() == {"name"} | AUCS | GAPS for row in shown[split]["identities"])
    page = browser.get(f"{HERE}/{played['bob']}").text
    assert f"Submission {played['bob']} of" in page and "2nd of 2" in page
    assert page.count("<table") == 2 and "predictions.csv" not in page
    board = browser.get("/api/v1/competitions/toxicity/leaderboard?split=private").json
    counted = {row["submission"] for row in board["rows"]}
    linked = browser.get(HERE).text
    assert played["bob"] in counted and all(f'"{HERE}/{each}"' in linked for each in counted)
    for submission_id in set(played.values()) - counted | {99}:
        answer = browser.get(f"{API}/{submission_id}")
        assert (answer.status_code, answer.json["error"]) == (404, "not_counted")
    assert browser.get(f"{API}/{played['bob']}".replace("toxicity", "other")).status_code == 404
    assert "submission" not in browser.get("/api/v1/competitions/toxicity/leaderboard").json["rows"][0]
