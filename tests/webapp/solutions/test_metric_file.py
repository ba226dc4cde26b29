"""Metrics written in Python (page and API): upload, who may, check, scores, rescoring with another file."""

import csv
import io
import json
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select

from grader.models import Score
from grader.sandbox import layers
from grader.settings import HostMetrics
from tests.fixtures.desk import API, Desk

pytestmark = pytest.mark.skipif(bool(layers().refusal), reason=str(layers().refusal))
DESK = f"{API}/competitions/next/organize"
MAE = """
class ParticipantVisibleError(Exception):
    pass


def score(solution, submission, row_id_column_name, extra=0.0):
    if (submission["price"] < 0).any():
        raise ParticipantVisibleError("Prices must not be negative.")
    error = (solution["price"] - submission["price"]).abs()
    return float(error.mean() + extra * (solution["kind"] != submission["kind"]).mean())
"""
ROWS = [(row, float(row % 7), f"k{row % 3}", "Public" if row % 2 else "Private") for row in range(1, 41)]
SOLUTION = "\n".join(
    ["id,price,kind,Usage", *(f"{row},{price},{kind},{usage}" for row, price, kind, usage in ROWS), ""]
)
SAMPLE = "\n".join(["id,price,kind", *(f"{row},2.5,k1" for row, *_ in ROWS), ""])


@pytest.fixture
def olga(arena):
    desk = Desk(arena.person("Olga", is_admin=True))
    desk("POST", f"{API}/competitions", json={"slug": "next", "title": "Next"}, expect=201)
    return desk


def upload(desk, source=MAE, *, sample=SAMPLE, expect=200, **fields):
    data = {"file": (io.BytesIO(source.encode()), "metric.py"), **fields}
    if sample is not None:
        data["sample"] = io.BytesIO(sample.encode()), "sample.csv"
    return desk("POST", f"{DESK}/metric-file", data=data, expect=expect).json


def accept_solution(olga):
    begun = olga("POST", f"{DESK}/solution", data=SOLUTION, content_type="text/csv", expect=202)
    olga.work()
    found = olga("GET", begun.json["url"]).json
    assert found["why_not"] is None, json.dumps(found)
    return found, olga("POST", f"{begun.json['url']}/accept").json


def scores(arena):
    with arena.database.read() as session:
        rows = session.scalars(select(Score).order_by(Score.scoring_version_id))
        return {each.split.value: each.score for each in rows}


def test_competition_with_a_metric_in_python_is_set_up_scored_and_rescored(olga):
    stored = upload(olga, direction="lowest", title="Priced", arguments='{"extra": 2}', decimals="3")
    assert (stored["job"], stored["is_in_use"]) == (None, True)
    found, _ = accept_solution(olga)
    report = found["report"]["python"]
    assert report["scores"]["perfect"] == 0.0 < report["scores"]["sample"]
    assert (report["checks_files"], report["sandbox"]) == (True, str(layers()))
    python = olga("GET", f"{DESK}/settings").json["settings"]["metric"]["python"]
    assert [each["kind"] for each in python["predictions"]] == ["number", "text"]
    assert (python["direction"], python["whole"], python["id"]) == ("lowest", ["id"], "id")
    tiered = {"feedback": "tiered", "feedback_step": "0.0005"}
    warned = olga("PATCH", f"{DESK}/settings", json=tiered).json["warnings"]
    assert any("the width of a band is 0.001" in each["message"] for each in warned), warned
    olga("PATCH", f"{DESK}/settings", json={"feedback": "open", "contact": "x@example.org"})
    now = olga.arena.now()
    dates = {"opens_at": now - timedelta(days=1), "closes_at": now + timedelta(days=9)}
    olga("PATCH", f"{DESK}/settings", json={name: each.isoformat() for name, each in dates.items()})
    olga("POST", f"{DESK}/state/publish")
    sent = {"file": (io.BytesIO(SAMPLE.encode()), "mine.csv")}
    olga("POST", f"{API}/competitions/next/submissions", data=sent, expect=201)
    olga.work()
    expected = {
        split: sum(abs(price - 2.5) + 2 * (kind != "k1") for _, price, kind, usage in ROWS if usage == split)
        / 20
        for split in ("Public", "Private")
    }
    assert scores(olga.arena) == {name.lower(): pytest.approx(each) for name, each in expected.items()}
    assert olga("GET", f"{DESK}/settings").json["settings"]["metric"]["source"] == stored["sha256"]

    exported = list(csv.DictReader(olga("GET", f"{DESK}/exports/scores.csv").text.splitlines()))
    assert [(row["split"], row["rows"]) for row in exported[:2]] == [("public", "20"), ("private", "20")]
    copied = "\n".join(["id,x", *(f"{row},{kind}" for row, _, kind, _ in ROWS), ""]).encode()
    olga("POST", f"{DESK}/data?file_name=copy.csv", data=copied, expect=201)
    olga.work()
    assert "agrees with the label" in olga("GET", f"{DESK}/data").text

    changed = upload(olga, MAE.replace("2.5", "0") + "# changed\n", sample=None, arguments="{}")
    assert not changed["is_in_use"]
    olga.work()
    begun = olga(
        "POST", f"{DESK}/rescoring", json={"settings": changed["job"]["id"], "reason": "Fixed."}, expect=202
    )
    olga.work()
    assert olga("GET", begun.json["url"]).json["state"] == "preparing"
    python = olga("GET", begun.json["url"]).json["metric"]["metric"]["python"]
    kept = [python[name] for name in ("title", "direction", "decimals", "arguments")]
    assert kept == ["Priced", "lowest", 3, {}]
    page = olga.person.browser.get("/competitions/next/organize/rescoring/2").text
    assert stored["sha256"][:12] in page and "Arguments" in page
    assert scores(olga.arena)["public"] == pytest.approx(
        sum(abs(price - 2.5) for _, price, _, usage in ROWS if usage == "Public") / 20
    )


def test_only_administrators_may_upload_by_default(olga, monkeypatch):
    arena = olga.arena
    ed = Desk(arena.person("Ed"))
    olga("POST", f"{DESK}/organizers", json={"name": "Ed", "role": "editor"}, expect=201)
    assert upload(olga, "def nothing(): pass\n", expect=409)["error"] == "metric_file_refused"
    assert "JSON object" in upload(olga, arguments="[1]", expect=409)["message"]
    arena.competition()
    sent = {"file": (io.BytesIO(MAE.encode()), "metric.py")}
    refused = olga("POST", f"{API}/competitions/toxicity/organize/metric-file", data=sent, expect=409)
    assert "not written in Python" in refused.json["message"]
    site = arena.app.extensions["fairboard"]
    answers = {}
    for allowed in HostMetrics:
        changed = site.settings.model_copy(update={"host_metrics": allowed})
        monkeypatch.setitem(arena.app.extensions, "fairboard", replace(site, settings=changed))
        upload(olga, expect=409 if allowed is HostMetrics.OFF else 200)
        answers[allowed] = upload(ed, expect=200 if allowed is HostMetrics.ORGANIZERS else 409)
    assert "accepts no metrics" in answers[HostMetrics.OFF]["message"]
    assert "Only administrators" in answers[HostMetrics.ADMINISTRATORS]["message"]


def test_settings_cannot_name_another_file(olga):
    stored = upload(olga)
    metric = olga("GET", f"{DESK}/settings").json["settings"]["metric"]
    olga("PATCH", f"{DESK}/settings", json={"metric": metric, "overview": "Hello."})
    for changed in ({"source": "0" * 64}, {"python": {**metric["python"], "title": "Other"}}):
        refused = olga("PATCH", f"{DESK}/settings", json={"metric": metric | changed}, expect=409).json
        assert [each["fields"] for each in refused["problems"]] == [["metric"]]
    assert olga("GET", f"{DESK}/settings").json["settings"]["metric"]["source"] == stored["sha256"]


def test_check_reports_a_metric_that_fails_and_the_page_shows_the_upload(olga):
    settings = "/competitions/next/organize/settings"
    files = {
        "file": (io.BytesIO(MAE.replace('["price"]', '["cost"]').encode()), "metric.py"),
        "sample": (io.BytesIO(SAMPLE.encode()), "sample.csv"),
    }
    stored = olga.person.post("/competitions/next/organize/metric-file", {"title": "Costs", **files})
    assert (stored.status_code, stored.location) == (303, settings), stored.text
    assert 'value="python" checked' in olga.person.browser.get(settings).text
    begun = olga("POST", f"{DESK}/solution", data=SOLUTION, content_type="text/csv", expect=202)
    olga.work()
    found = olga("GET", begun.json["url"]).json
    assert found["why_not"] is not None
    assert "KeyError: 'cost'" in str(found["report"]["findings"])
