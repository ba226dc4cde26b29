"""Competitions with any metric over HTTP, from the settings to the results bundle."""

from datetime import UTC, datetime

import numpy as np
import pytest
from sklearn.metrics import f1_score, root_mean_squared_error
from sqlalchemy import select

from grader.models import Score, Split
from grader.receipts import Receipt, verify
from tests.fixtures.databases import set_clock
from tests.fixtures.desk import API, Desk

HERE = f"{API}/competitions/any"
DESK = f"{HERE}/organize"
ROWS = 400
CLASSES = ("cat", "dog", "eel")
IS_PUBLIC = np.random.default_rng(2).random(ROWS) < 0.5


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch):
    """The current time, which only the test changes."""
    times = [datetime(2030, 1, 1, tzinfo=UTC)]
    set_clock(monkeypatch, lambda: times[-1])
    return times


class Numbers:
    """A regression with two groups."""

    metric = "rmse"
    classes = ()

    def __init__(self):
        rng = np.random.default_rng(0)
        self.truth = rng.normal(100, 20, ROWS).round(3)
        self.noise = {each: rng.normal(0, 2 + each, ROWS) for each in range(3)}

    def true_texts(self):
        return [repr(float(each)) for each in self.truth]

    def predictions(self, team):
        return [repr(float(each)) for each in self.truth + self.noise[team]]

    def score(self, team, rows):
        return root_mean_squared_error(self.truth[rows], (self.truth + self.noise[team])[rows])


class Classes:
    """A classification of texts."""

    metric = "macro_f1"
    classes = CLASSES

    def __init__(self):
        rng = np.random.default_rng(1)
        self.truth = rng.choice(CLASSES, ROWS)
        self.guesses = {
            each: np.where(rng.random(ROWS) < 0.2 + 0.2 * each, rng.choice(CLASSES, ROWS), self.truth)
            for each in range(3)
        }

    def true_texts(self):
        return list(self.truth)

    def predictions(self, team):
        return list(self.guesses[team])

    def score(self, team, rows):
        return f1_score(self.truth[rows], self.guesses[team][rows], average="macro")


def solution(task):
    regions = ["south" if number % 7 in (1, 5) else "north" for number in range(ROWS)]
    usage = np.where(IS_PUBLIC, "Public", "Private")
    rows = zip(range(ROWS), task.true_texts(), regions, usage, strict=True)
    lines = [",".join(map(str, row)) for row in rows]
    return "\n".join(["id,target,region,Usage", *lines, ""]).encode()


def submission(task, team):
    lines = [f"{number},{text}" for number, text in enumerate(task.predictions(team))]
    return "\n".join(["id,prediction", *lines, ""]).encode()


def assert_verified(receipt, task, team):
    sent = Receipt.from_json(receipt)
    checks = verify(sent, submission=submission(task, team), solution=solution(task))
    assert [each for each in checks if not each.holds] == []
    assert len(checks) > 20
    terms = {
        "private score",
        "private rows of region = south",
        *(f"private f1_{each}" for each in task.classes),
    }
    assert terms <= {each.what for each in checks}


@pytest.mark.parametrize("kind", [Numbers, Classes])
def test_a_competition_with_another_metric_runs_from_its_draft_to_its_bundle(arena, clock, kind):
    task = kind()
    olga = Desk(arena.person("Olga", is_admin=True))
    olga("POST", f"{API}/competitions", json={"slug": "any", "title": "Any"}, expect=201)
    settings = {"opens_at": "2030-01-01T00:00:00Z", "closes_at": "2030-02-01T00:00:00Z"}
    olga("PATCH", f"{DESK}/settings", json=settings | {"metric": {"name": task.metric}})
    sent = {"data": solution(task), "content_type": "text/csv"}
    check = olga("POST", f"{DESK}/solution", **sent, expect=202).json["url"]
    olga.work()
    checked = olga("GET", check).json
    assert checked["why_not"] is None, [
        checked["problems"],
        checked["report"] and checked["report"]["findings"],
    ]
    olga("POST", f"{check}/accept")
    olga("POST", f"{DESK}/data?file_name=train.csv", data=b"id,text\n1,hi\n", expect=201)
    olga.work()
    olga("POST", f"{DESK}/state/publish")
    desks = [Desk(arena.person(name)) for name in ("Ann", "Bob", "Cem")]
    numbers = []
    for team, desk in enumerate(desks):
        desk("POST", f"{HERE}/join", json={})
        sent = {"data": submission(task, team), "content_type": "text/csv"}
        numbers.append(desk("POST", f"{HERE}/submissions", **sent, expect=201).json["id"])
    olga.work()
    with arena.database.read() as session:
        query = select(Score.score).where(Score.split == Split.PUBLIC).order_by(Score.submission_id)
        scores = session.scalars(query).all()
    assert scores[-3:] == pytest.approx([task.score(team, IS_PUBLIC) for team in range(3)], rel=1e-12)
    receipts = [f"{API}/submissions/{number}/receipt" for number in numbers]
    assert set(desks[0]("GET", receipts[0]).json["splits"]["public"]) == {"shown"}
    for team, receipt in enumerate(receipts):
        assert_verified(olga("GET", receipt).data, task, team)

    clock.append(datetime(2030, 2, 2, tzinfo=UTC))
    olga.work()
    olga("POST", f"{DESK}/close/verify", expect=202)
    olga.work()
    verified = olga("GET", f"{DESK}/close").json["verified"]
    assert verified["submission_ids"] == numbers
    assert (verified["differences"], verified["value_count"] > 30) == ([], True)
    page = arena.person("Ina", is_admin=True).browser.get("/competitions/any/organize/close").text
    precision = "within 1e-12 of their value" if kind is Numbers else "to the last bit"
    assert f"all agree {precision}." in page
    for act in ("reveal", "finalize", "solution"):
        olga("POST", f"{DESK}/close/{act}")
    olga.work()
    for team, (desk, receipt) in enumerate(zip(desks, receipts, strict=True)):
        assert_verified(desk("GET", receipt).data, task, team)
