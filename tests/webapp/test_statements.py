"""Numbers of SQL statements per request: uploads, also under the competition's lock, and pages."""

from io import BytesIO

import pytest

from tests.fixtures.statements import recorded

pytestmark = pytest.mark.both_databases

HERE = "/competitions/toxicity"
API = f"/api/v1{HERE}"


@pytest.fixture
def ann(arena):
    """A user whose login and token have just been used."""
    arena.competition(max_daily_submissions=5, max_total_submissions=50)
    ann = arena.person("Ann")
    assert ann.browser.get("/account").status_code == 200
    path = f"{API}/submissions"
    assert arena.app.test_client().get(path, headers=ann.bearer).status_code == 200
    return ann


def upload_by_api(arena, person, seed):
    file = {"file": (BytesIO(arena.truth.predictions(seed=seed)), "p.csv")}
    with recorded(arena.database) as sent:
        answer = arena.app.test_client().post(f"{API}/submissions", data=file, headers=person.bearer)
    assert answer.status_code == 201, answer.text
    return sent


def upload_by_page(arena, person, seed):
    token = arena.form_token(person.browser, "/account")
    form = {"csrf_token": token, "file": (BytesIO(arena.truth.predictions(seed=seed)), "p.csv")}
    with recorded(arena.database) as sent:
        answer = person.browser.post(f"{HERE}/submit", data=form)
    assert answer.status_code == 303, answer.text
    return sent


@pytest.mark.parametrize("upload", [upload_by_api, upload_by_page])
def test_an_upload_sends_few_statements_under_the_lock(arena, ann, upload):
    assert upload(arena, ann, 1).count <= 21  # The first one also creates the team.
    sent = upload(arena, ann, 2)
    assert sent.count <= 16 and 0 < sent.count_under_lock <= 10


@pytest.mark.parametrize(
    ("who", "path", "most", "most_again"),
    [
        ("member", f"{HERE}/submissions", 15, 14),
        ("token", f"{API}/submissions", 8, 8),
        ("member", f"{HERE}/leaderboard", 22, 12),
        ("visitor", f"{HERE}/leaderboard", 17, 2),
        ("visitor", f"{API}/leaderboard", 8, 2),
        ("visitor", f"{HERE}/leaderboard.csv", 8, 2),
        ("visitor", HERE, 6, 2),
        ("member", HERE, 16, 15),
    ],
)
def test_a_page_sends_few_statements_and_fewer_within_seconds(
    arena, ann, monkeypatch, who, path, most, most_again
):
    for person in (ann, arena.person("Bob")):
        arena.submit(person, arena.truth.predictions(noise=3 - person.user.id / 10))
    arena.score_all()
    monkeypatch.setattr(arena.app.extensions["fairboard"].pages, "seconds", 60)
    client = ann.browser if who == "member" else arena.app.test_client()
    counts = []
    for _ in range(2):
        with recorded(arena.database) as sent:
            assert client.get(path, headers=ann.bearer if who == "token" else {}).status_code == 200
        clock = "select clock_timestamp"  # on PostgreSQL only
        counts.append(sent.count - sent.lines.count(clock))
    assert counts[0] <= most and counts[1] <= most_again, counts
