"""Uploads and selections near the close."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from grader import db
from grader.models import Competition, Submission
from tests.fixtures.patience import HANG_SECONDS

LAST_SECONDS = 1.0
REFUSALS = 3


@pytest.fixture
def settings(make_settings):
    return make_settings(
        web_workers=1,
        web_threads=12,
        disk_reserve_mb=0,
        sweep_after_seconds=0,
    )


def close_at(service, competition, *, in_seconds):
    """Set when a competition closes, according to the database's clock."""
    with service.database.write() as session:
        closes_at = db.now(session) + timedelta(seconds=in_seconds)
        session.execute(update(Competition).values(closes_at=closes_at))
    return closes_at


def test_only_actions_before_the_close_are_accepted(service, web, make_token, predictions_csv, all_is_well):
    competition = service.competition()
    names = ("ada", "bob", "eve", "joe")
    tokens = {name: make_token(name) for name in names}
    # Each team already has two files. A second client alternates its selection between them until the close.
    earlier = {name: [service.submit(competition, user=name, seed=seed) for seed in (1, 2)] for name in names}
    service.score(*(accepted for pair in earlier.values() for accepted in pair))
    web.start()
    with ThreadPoolExecutor(2 * len(names)) as pool:
        under_way = threading.Barrier(2 * len(names) + 1)
        uploads = [
            pool.submit(_upload_until_refused, web.caller(tokens[name]), predictions_csv, number, under_way)
            for number, name in enumerate(names)
        ]
        picks = [
            pool.submit(
                _pick_until_refused,
                web.caller(tokens[name]),
                [accepted.submission.id for accepted in earlier[name]],
                under_way,
            )
            for name in names
        ]
        under_way.wait(HANG_SECONDS)
        closes_at = close_at(service, competition, in_seconds=LAST_SECONDS)
    sent = {key: content for each in uploads for key, content in each.result().items()}
    with service.database.read() as session:
        times = {key: session.get_one(Submission, key).submitted_at for key in sent}
        picked = set(session.scalars(select(Submission.id).where(Submission.is_selected)))
    assert len(sent) >= len(names)
    assert max(times.values()) < closes_at
    assert picked == {key for each in picks for key in each.result()}
    service.score_all()
    service.reveal(competition)
    final = web.caller(tokens["ada"]).get("/api/v1/competitions/toxicity/leaderboard?split=private")
    assert final.status == 200 and len(final.data["rows"]) == len(names)
    all_is_well(*(each for pair in earlier.values() for each in pair), sent=sent)


def _upload_until_refused(caller, predictions_csv, number, under_way):
    """Upload until the competition has closed; assert that none is accepted later."""
    accepted: dict[int, bytes] = {}
    refusals = 0
    for each in range(1000):
        content = predictions_csv(seed=1000 * (number + 1) + each)
        answer = caller.send(content)
        if answer.status == 201:
            assert not refusals
            accepted[answer.data["id"]] = content
            if len(accepted) == 1:
                under_way.wait(HANG_SECONDS)
        else:
            assert (answer.status, answer.data["error"]) == (403, "competition_closed"), answer
            refusals += 1
        if refusals == REFUSALS:
            break
    assert refusals
    return accepted


def _pick_until_refused(caller, ids, under_way):
    """Alternate the selection between two files until the close; return the final selection."""
    picked: set[int] = set()
    refusals = turn = 0
    while refusals < REFUSALS:
        submission_id, wanted = ids[turn // 2 % 2], turn % 2 == 0
        body = f"selected={str(wanted).lower()}".encode()
        answer = caller.request(
            "POST",
            f"/api/v1/submissions/{submission_id}/select",
            body,
            Content_Type="application/x-www-form-urlencoded",
        )
        if answer.status == 200:
            assert not refusals
            picked = picked | {submission_id} if wanted else picked - {submission_id}
        else:
            assert (answer.status, answer.data["error"]) == (403, "selection_closed"), answer
            refusals += 1
        turn += 1
        if turn == 1:
            under_way.wait(HANG_SECONDS)
    return picked
