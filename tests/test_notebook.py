"""Notebooks of the documentation, run cell by cell; "From data to rank" runs on a real site."""

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from grader.demo.dataset import generate
from grader.models import Competition, OrganizerJob
from grader.services.site.log import Actor
from grader.services.solutions import data_files as files
from grader.worker.organizer_jobs.worker import run_job

pytestmark = pytest.mark.system

NOTEBOOKS = Path(__file__).parents[1] / "docs" / "notebooks"
NOTEBOOK = NOTEBOOKS / "from-data-to-rank.ipynb"


def run(notebook):
    """Run all cells and return the variables."""
    names: dict[str, Any] = {}
    for cell in json.loads(notebook.read_text())["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    return names


@pytest.fixture
def dataset():
    return generate(train_rows=1500, test_rows=2000)


@pytest.fixture
def demo(service, dataset):
    """A small demo competition with its checked data files."""
    made: Competition = service.competition(
        "demo", csv=dataset.solution.to_csv(index=False).encode(), title="A demo", max_daily_submissions=5
    )
    for name in ("train", "test"):
        blob = service.storage.put(getattr(dataset, name).to_csv(index=False).encode())
        act = {"actor": Actor.shell(), "now": service.now}
        with service.database.write() as session:
            files.add(session, competition=made, name=f"{name}.csv", blob=blob, **act)
    with service.database.read() as session:
        waiting = session.scalars(select(OrganizerJob.id)).all()
    for job_id in waiting:
        run_job(service.settings, service.database, service.storage, job_id)
    return made


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_notebook_runs_from_data_to_a_rank(service, demo, live_site, tmp_path, monkeypatch, capsys):
    rival = b"id,prediction\n" + b"".join(b"%d,0.5\n" % (7_000_000 + row) for row in range(2000))
    service.score(service.submit(demo, user="bob", csv=rival))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAIRBOARD_SITE", live_site.address)
    monkeypatch.setenv("FAIRBOARD_TOKEN", live_site.make_token())
    names = run(NOTEBOOK)
    assert (names["own"].rank, names["own"].team, names["board"].team_count) == (1, "ada", 2)
    assert names["done"].public_score > 0.7
    assert "rank 1 with 0." in capsys.readouterr().out


@pytest.mark.parametrize(
    "notebook", sorted({*NOTEBOOKS.glob("*.ipynb")} - {NOTEBOOK}), ids=lambda path: path.stem
)
def test_notebook_without_a_site_runs(notebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    run(notebook)


@pytest.mark.parametrize("notebook", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook_is_stored_without_outputs(notebook):
    code = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
    assert [cell["id"] for cell in code if cell["outputs"] or cell["execution_count"]] == []
