"""Submissions with extra columns for other labels, read by every reader."""

from datetime import timedelta
from io import BytesIO

import pytest

from grader import db
from grader.files import ColumnRole, read_solution
from grader.services.competitions import acting, lookup
from grader.services.rescoring import preparation
from grader.services.site.log import Actor
from grader.services.submissions import scoring_jobs as scoring
from grader.worker.calculator import Calculator
from grader.worker.rank_cache import RankCache
from tests.fixtures import stored_solutions
from tests.fixtures.competitions import publish_competition

HERE = "/competitions/toxicity"
IDENTITIES = ("male", "female", "black or african")


@pytest.fixture
def scene(arena):
    """Two competitions, only one of which has another label; Ann is a participant."""
    roles = {"id": ColumnRole.ID, "toxicity": ColumnRole.LABEL, "Usage": ColumnRole.USAGE}
    roles |= dict.fromkeys(IDENTITIES, ColumnRole.IDENTITY) | {"insult": ColumnRole.OTHER_LABEL}
    solution = read_solution(with_column(arena.truth.solution(), "insult", "0.5"), roles=roles)
    stored = stored_solutions.store_new(arena.storage, solution, split_key=b"key", identities=IDENTITIES)
    with arena.database.write() as session:
        actor = Actor(None, "tests")
        publish_competition(
            session,
            slug="toxicity",
            solution=stored,
            max_daily_submissions=None,
            actor=actor,
            now=arena.now(),
        )
    arena.competition("plain")
    arena.ann = arena.person("Ann")
    arena.alone = arena.truth.predictions()
    arena.beside = with_column(arena.alone, "insult", "no number")
    return arena


def with_column(data, name, value):
    header, *rows = data.decode().splitlines()
    return "\n".join([f"{header},{name}", *(f"{row},{value}" for row in rows), ""]).encode()


def check(arena, file, slug="toxicity"):
    data = {"file": (BytesIO(file), "p.csv")}
    path = f"/api/v1/competitions/{slug}/check"
    return dict(arena.app.test_client().post(path, data=data, headers=arena.ann.bearer).json)


def told(arena, submission_id):
    path = f"/api/v1/submissions/{submission_id}"
    return dict(arena.app.test_client().get(path, headers=arena.ann.bearer).json)


def test_pages_and_check_use_the_labels_of_each_competition(scene):
    for page in ("submissions", "evaluation"):
        assert "<code>insult</code>" in scene.ann.browser.get(f"{HERE}/{page}").text
        assert "<code>insult</code>" not in scene.ann.browser.get(f"/competitions/plain/{page}").text
    assert "columns_not_read" in [note["code"] for note in check(scene, scene.beside)["notes"]]
    for file, slug in ((scene.beside, "plain"), (with_column(scene.alone, "target", "1"), "toxicity")):
        answer = check(scene, file, slug)
        assert [problem["code"] for problem in answer["problems"]] == ["unexpected_column"]


def test_only_the_prediction_is_scored_and_the_submission_page_states_it(scene):
    alone, beside = scene.submit(scene.ann, scene.alone), scene.submit(scene.ann, scene.beside)
    elsewhere = scene.submit(scene.ann, scene.beside, slug="plain")
    scene.score_all()
    first, second = told(scene, alone), told(scene, beside)
    assert (second["public_score"], second["terms"]) == (first["public_score"], first["terms"])
    (note,) = (each for each in second["notes"] if each not in first["notes"])
    assert (note["code"], note["line"], note["count"]) == ("columns_not_read", 1, 1)
    assert "not read: &#39;insult&#39;" in scene.ann.browser.get(f"{HERE}/submissions/{beside}").text
    assert told(scene, elsewhere)["status"] == "rejected"


def test_cached_ranks_are_ignored_if_the_file_would_be_rejected(scene, tmp_path):
    sent = [scene.submit(scene.ann, scene.beside), scene.submit(scene.ann, scene.beside, slug="plain")]
    calculator = Calculator(scene.storage, RankCache(tmp_path / "ranks", max_bytes=1_000_000))
    outcomes = {}
    with scene.database.write() as session:
        for job_id in scoring.waiting(session, older_than=timedelta(), limit=9, now=db.now(session)):
            claim = scoring.claim(session, job_id=job_id, lease=timedelta(seconds=9), now=db.now(session))
            outcomes[claim.submission_id] = [type(calculator.outcome(claim)).__name__ for _ in range(2)]
    assert outcomes == {sent[0]: ["Scores"] * 2, sent[1]: ["Rejection"] * 2}


def test_a_solution_corrected_without_the_label_still_scores_the_file(scene):
    beside = scene.submit(scene.ann, scene.beside)
    scene.score_all()
    corrected = read_solution(scene.truth.solution(), label="toxicity", identities=IDENTITIES)
    with scene.database.read() as session:
        live = lookup.live(lookup.get(session, slug="toxicity"))
    stored = stored_solutions.store_corrected(scene.storage, corrected, live=live)
    with scene.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        act = acting.begin(session, competition=competition, actor=Actor(None, "tests"))
        version = preparation.prepare(act, solution=stored, reason="Tests.")
    scene.score_all()
    with scene.database.read() as session:
        assert preparation.progress(session, version=version).finished == 1
    assert told(scene, beside)["status"] == "scored"
