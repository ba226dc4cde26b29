"""Competitions with any metric over HTTP, from the settings to the results bundle."""

import csv
import io
import re
import zipfile
from datetime import UTC, datetime

import numpy as np
import pytest
from sklearn.metrics import (
    f1_score,
    root_mean_squared_error,
)
from sqlalchemy import select

from grader.models import Score, Split
from grader.receipts import Receipt
from grader.receipts.verification import verify
from grader.services.leaderboards import group_tables
from tests.fixtures.arena import main_text, without_form_tokens
from tests.fixtures.desk import API, Desk

HERE = f"{API}/competitions/any"
DESK = f"{HERE}/organize"
ROWS = 400
CLASSES = ("cat", "dog", "eel")
TEAMS = ("Ann", "Bob", "Cem")
COLUMN = "region"
REGIONS = np.array(["south" if number % 7 in (1, 5) else "north" for number in range(ROWS)])
IS_PUBLIC = np.random.default_rng(2).random(ROWS) < 0.5


class Numbers:
    """A regression with two groups."""

    metric = "rmse"
    classes = ()
    reported = ("mae", "r2")

    def __init__(self):
        rng = np.random.default_rng(0)
        self.truth = rng.normal(100, 20, ROWS).round(3)
        self.predicted = [self.truth + rng.normal(0, 2 + each, ROWS) for each in range(3)]

    def true_texts(self):
        return [repr(float(each)) for each in self.truth]

    def predictions(self, team):
        return [repr(float(each)) for each in self.predicted[team]]

    def score(self, team, rows):
        return root_mean_squared_error(self.truth[rows], self.predicted[team][rows])


class Classes:
    """A classification of texts."""

    metric = "macro_f1"
    classes = CLASSES
    reported = ("accuracy",)

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
    usage = np.where(IS_PUBLIC, "Public", "Private")
    rows = zip(range(ROWS), task.true_texts(), REGIONS, usage, strict=True)
    lines = [",".join(map(str, row)) for row in rows]
    return "\n".join([f"id,target,{COLUMN},Usage", *lines, ""]).encode()


def submission(task, team):
    lines = [f"{number},{text}" for number, text in enumerate(task.predictions(team))]
    return "\n".join(["id,prediction", *lines, ""]).encode()


def assert_verified(receipt, task, team, published):
    sent = Receipt.from_json(receipt)
    checks = verify(sent, submission=submission(task, team), solution=published)
    assert [each for each in checks if not each.holds] == []
    assert len(checks) > 15
    terms = {
        "private score",
        "private rows of region = south",
        *(f"private f1_{each}" for each in task.classes),
        *(f"private {each}" for each in task.reported),
    }
    assert terms <= {each.what for each in checks}


def opened(arena, task, **chosen):
    """Return an organizer and three participants of a competition, and the ids of their scored files."""
    olga = Desk(arena.person("Olga", is_admin=True))
    olga("POST", f"{API}/competitions", json={"slug": "any", "title": "Any"}, expect=201)
    settings = {
        "opens_at": "2030-01-01T00:00:00Z",
        "closes_at": "2030-02-01T00:00:00Z",
        "contact": "a@b.org",
    }
    settings["metric"] = {"name": task.metric, **chosen}
    olga("PATCH", f"{DESK}/settings", json=settings)
    check = checked(olga, task)
    olga("POST", f"{check}/accept")
    olga("POST", f"{DESK}/data?file_name=train.csv", data=b"id,text\n1,hi\n", expect=201)
    olga.work()
    olga("POST", f"{DESK}/state/publish")
    desks = [Desk(arena.person(name)) for name in TEAMS]
    numbers = []
    for team, desk in enumerate(desks):
        desk("POST", f"{HERE}/join", json={})
        sent = {"data": submission(task, team), "content_type": "text/csv"}
        numbers.append(desk("POST", f"{HERE}/submissions", **sent, expect=201).json["id"])
    olga.work()
    return olga, desks, numbers


def checked(olga, task):
    """Upload a solution with `region` as a group column, and return the URL of its check."""
    sent = {"data": solution(task), "content_type": "text/csv"}
    check = olga("POST", f"{DESK}/solution", **sent, expect=202).json["url"]
    olga.work()
    roles = {"id": "id", "target": "label", COLUMN: "slice", "Usage": "usage"}
    check = olga("POST", f"{check}/roles", json={"roles": roles}, expect=202).json["url"]
    olga.work()
    found = olga("GET", check).json
    assert found["why_not"] is None, [found["problems"], found["report"] and found["report"]["findings"]]
    return check


def stored_scores(arena):
    """Return the public scores of the three teams, which follow that of the sample."""
    with arena.database.read() as session:
        query = select(Score).where(Score.split == Split.PUBLIC).order_by(Score.submission_id)
        return session.scalars(query).all()[-3:]


def revealed(olga):
    """Reveal the competition after its deadline, and publish its solution."""
    olga.work()
    for act in ("reveal", "solution"):
        olga("POST", f"{DESK}/close/{act}")
    olga.work()


@pytest.mark.parametrize("kind", [Numbers, Classes])
def test_a_competition_with_another_metric_runs_from_its_draft_to_its_bundle(arena, clock, kind):
    task = kind()
    olga, desks, numbers = opened(arena, task, reported=task.reported)
    scores = [each.score for each in stored_scores(arena)]
    assert scores == pytest.approx([task.score(team, IS_PUBLIC) for team in range(3)], rel=1e-12)
    receipts = [f"{API}/submissions/{number}/receipt" for number in numbers]
    assert set(desks[0]("GET", receipts[0]).json["splits"]["public"]) == {"shown"}

    clock.append(datetime(2030, 2, 2, tzinfo=UTC))
    revealed(olga)
    published = arena.app.test_client().get("/competitions/any/data/solution.csv").data
    for team, (desk, receipt) in enumerate(zip(desks, receipts, strict=True)):
        assert_verified(desk("GET", receipt).data, task, team, published)

    assert_bundle(unpacked(olga("GET", f"{DESK}/exports/results.zip").data), task)
    page = arena.app.test_client().get("/competitions/any/leaderboard/private").text
    assert page.count('<circle class="dot"') >= 2 and 'scope="col" class="number">Worst group</th>' in page
    (worst,) = {
        row["worst_group"]["score"]
        for row in olga("GET", f"{HERE}/leaderboard?split=private").json["rows"][:1]
    }
    assert f'<td class="number">{group_tables.text(worst)} <bdi>region = ' in page


def unpacked(bundle):
    """Return the texts of a bundle by name, without its folder."""
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        return {name.partition("/")[2]: archive.read(name).decode() for name in archive.namelist()}


def assert_bundle(files, task):
    """Assert that the leaderboards in the bundle are those of the metric."""
    rows = list(csv.DictReader(files["standings.csv"].splitlines()))
    for split, which in (("public", IS_PUBLIC), ("private", ~IS_PUBLIC)):
        scores = sorted((task.score(team, which) for team in range(3)), reverse=task.metric != "rmse")
        shown = [row["score_shown"] for row in rows if row["split"] == split]
        assert shown == [f"{each:.5f}" for each in scores]
    assert {"rmse": "RMSE", "macro_f1": "Macro"}[task.metric] in files["README.txt"]


def grouped(task, team, rows, weight):
    """Return the score with groups by its definition: p = 5 if the lowest value is the best, or else -5."""
    power = 5 if task.metric == "rmse" else -5
    values = [task.score(team, rows & (region == REGIONS)) for region in ("north", "south")]
    mean = np.mean(np.power(values, power)) ** (1 / power)
    return weight * task.score(team, rows) + (1 - weight) * mean


PAGES = (
    "", "/evaluation", "/data", "/log", "/kaggle", "/leaderboard",
    "/leaderboard?sort=score&order=asc", "/leaderboard?sort={term}", "/leaderboard?q=a", "/leaderboard.csv",
    "/leaderboard/private", "/leaderboard/private.csv", "/leaderboard/private/{own}",
    "/submissions", "/submissions/{own}", "/submissions/{own}/receipt", "/submissions/{other}",
    "/submissions/compare", "/submissions/compare?candidate={own}&baseline={other}",
    "/teams/{team}/certificate", "/team", "/join",
)  # fmt: skip
ANSWERS = (
    f"{HERE}", f"{HERE}/pages", f"{HERE}/leaderboard", f"{HERE}/leaderboard?sort={{term}}",
    f"{HERE}/leaderboard?sort=score&order=asc", f"{HERE}/leaderboard?sort=score&order=desc",
    f"{HERE}/submissions", f"{HERE}/leaderboard?split=private", f"{HERE}/leaderboard/private/{{own}}",
    f"{HERE}/results", f"{API}/submissions/{{own}}",
    f"{API}/submissions/{{own}}/losses", f"{API}/submissions/{{own}}/receipt",
)  # fmt: skip
FORBIDDEN = r"\bAUCs?\b|identit|toxic|BPSN|BNSP|four terms|subgroup|undefined|one half|highest"


def crawled(arena, desks, places):
    """Return the responses by viewer and path; fail for server errors and words of the bias metric."""
    paths = [each.format(**places) for each in (*(f"/competitions/any{page}" for page in PAGES), *ANSWERS)]
    clients = {"visitor": (arena.app.test_client(), {})}
    clients |= {each.person.user.name: (each.person.browser, each.person.bearer) for each in desks}
    responses = {}
    for viewer, (client, bearer) in clients.items():
        for path in paths:
            answer = client.get(path, headers=bearer if path.startswith(API) else {})
            assert answer.status_code < 500, (viewer, path)
            text = main_text(answer.text) if answer.mimetype == "text/html" else answer.text
            if answer.status_code >= 400:  # The footer of errors is that of the site.
                text = text.replace("ties count as one half", "")
            text = re.sub(r'"(weakest_term|(private_)?identities)":null', "", text)
            found = re.search(FORBIDDEN, text, re.IGNORECASE)
            assert found is None, (viewer, path, text[max(0, found.start() - 80) : found.end()])
            responses[viewer, path] = answer
    return responses


def test_pages_and_answers_show_terms_and_groups_of_another_metric(arena, clock):
    task = Numbers()
    olga, desks, numbers = opened(arena, task, weight=0.5)
    olga("PATCH", f"{DESK}/settings", json={"closes_at": "2030-01-10T00:00:00Z"})
    ann, sent = desks[0], {"data": submission(task, 1), "content_type": "text/csv"}
    other = ann("POST", f"{HERE}/submissions?again=true", **sent, expect=201).json["id"]
    olga.work()
    rows = [row for row in olga("GET", f"{HERE}/leaderboard").json["rows"] if not row["is_benchmark"]]
    team = next(row["team_id"] for row in rows if row["team"] == "Ann")
    places = {"own": numbers[0], "other": other, "term": "overall", "team": team}
    own = f"submissions/{numbers[0]}"

    before = crawled(arena, [olga, ann], places)
    scores = sorted(grouped(task, each, IS_PUBLIC, 0.5) for each in range(3))
    assert [row["score"] for row in rows] == pytest.approx(scores, abs=1e-5)
    assert all("worst_group" in row for row in rows)  # Organizers see groups before the reveal.
    assert "worst_group" not in before["visitor", f"{HERE}/leaderboard"].json["rows"][0]
    by_score = [before["Olga", f"{HERE}/leaderboard?sort=score&order={order}"] for order in ("asc", "desc")]
    best_first, worst_first = ([row["team"] for row in answer.json["rows"]] for answer in by_score)
    assert [each for each in best_first if each in TEAMS] == [row["team"] for row in rows]
    assert worst_first == [row["team"] for row in rows][::-1]
    regions = {each: IS_PUBLIC & (each == REGIONS) for each in ("north", "south")}
    values = {each: task.score(0, rows) for each, rows in regions.items()}
    (table,) = before["Ann", f"{API}/{own}"].json["groups"]
    assert {each["name"]: each["score"] for each in table["groups"]} == pytest.approx(values, rel=0.005)
    assert {each["name"]: each["rows"] for each in table["groups"]} == {
        each: np.sum(rows) for each, rows in regions.items()
    }
    assert table["worst"] == table["groups"][0]["name"] == max(values, key=values.get)
    assert [each["behind"] > 0 for each in table["groups"]] == [True, False]
    evaluation = main_text(before["visitor", "/competitions/any/evaluation"])
    assert "The lowest score is the best" in evaluation

    clock.append(datetime(2030, 1, 11, tzinfo=UTC))
    revealed(olga)
    after = crawled(arena, [olga, ann], places)
    shown = after["Ann", f"{API}/{own}"].json
    assert shown["private_score"] == pytest.approx(grouped(task, 0, ~IS_PUBLIC, 0.5), abs=1e-5)
    assert shown["private_groups"][0]["column"] == "region"
    board = after["visitor", f"{HERE}/leaderboard?split=private"].json["rows"]
    assert {line["worst_group"]["column"] for line in board} == {"region"}
    path = f"/competitions/any/submissions/compare?candidate={numbers[0]}&baseline={other}"
    compared = main_text(after["Ann", path])
    assert "south region" in compared


def test_nothing_before_the_reveal_depends_on_the_private_targets(make_arena, clock):
    seen = []
    for is_other in (False, True):
        task, arena = Numbers(), make_arena()
        if is_other:
            task.truth = task.truth.copy()
            task.truth[~IS_PUBLIC] = task.truth[~IS_PUBLIC][::-1]
        olga, desks, numbers = opened(arena, task, reported=["mae"])
        lines = olga("GET", f"{HERE}/leaderboard").json["rows"]
        team = next((row["team_id"] for row in lines if row["team"] == "Ann"), 2)
        places = {"own": numbers[0], "other": numbers[1], "term": "score", "team": team}
        pages = crawled(arena, desks[:1], places)
        olga_sees = olga("GET", f"{DESK}/exports/scores.csv").text
        masked = {
            key: re.sub(r"[0-9a-f]{64}", "", without_form_tokens(each.text)) for key, each in pages.items()
        }
        seen.append((masked, olga_sees))
    assert seen[0][0] == seen[1][0]
    assert seen[0][1] != seen[1][1]
