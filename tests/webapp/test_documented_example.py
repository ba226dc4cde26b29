"""The example of the documentation: a complete competition, from the draft to the results bundle."""

import runpy
import time
import zipfile
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import httpx

from tests.fixtures.desk import API, Desk

HERE = f"{API}/competitions/toxic"
DESK = f"{HERE}/organize"
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "run_competition.py"


def test_the_example_of_the_documentation_runs_a_competition(arena, clock, tmp_path, monkeypatch):
    """Run the workers while the script sleeps; close the competition after the rescoring."""
    olga = Desk(arena.person("Olga", is_admin=True))
    solution = arena.truth.solution()
    first = solution.splitlines()[1]
    row_id, label, others = first.split(b",", 2)
    corrected = b",".join([row_id, b"%d" % (1 - int(label)), others])
    (tmp_path / "solution.csv").write_bytes(solution)
    (tmp_path / "corrected.csv").write_bytes(solution.replace(first, corrected, 1))
    (tmp_path / "train.csv").write_bytes(b"id,text\n1,hi\n")
    ann, client = Desk(arena.person("Ann")), arena.app.test_client()
    sent: list[int] = []

    def sleep(_: float):
        olga.work()
        if not sent and client.get(HERE, headers=ann.person.bearer).status_code == 200:
            sent.append(arena.submit(ann.person, arena.truth.predictions(), slug="toxic"))
        if sent and olga("GET", f"{DESK}/rescoring").json["versions"][0]["number"] == 2:
            clock.append(datetime(2030, 2, 2, tzinfo=UTC))

    http = partial(httpx.Client, transport=httpx.WSGITransport(arena.app))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAIRBOARD_SITE", "http://localhost")
    monkeypatch.setenv("FAIRBOARD_TOKEN", olga.person.token)
    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(httpx, "Client", http)
    runpy.run_path(str(EXAMPLE))
    [bundle] = tmp_path.glob("*.zip")
    assert any(name.endswith("standings.csv") for name in zipfile.ZipFile(bundle).namelist())
