"""Rescoring pages: checked solution or settings, difference, publication, rollback."""

import html
import io
import re

import pytest
from sqlalchemy import func, select

from grader.models import OrganizerJob, Role, Team
from grader.services.competitions import lookup
from grader.services.rescoring import difference as rescoring_difference
from grader.worker.organizer_jobs.worker import run_job

ROOT = "/competitions/toxicity/organize"


def corrected(arena, count=60):
    """The fixture's solution with some labels inverted."""
    header, *lines = arena.truth.solution().decode().splitlines()
    for number in range(count):
        cells = lines[number].split(",")
        cells[1] = str(1 - int(cells[1]))
        lines[number] = ",".join(cells)
    return "\n".join([header, *lines]).encode()


@pytest.fixture
def people(arena):
    """Two teams with submissions, an editor and a viewer."""
    arena.competition()
    people = {name: arena.person(name) for name in ("Ann", "Bob", "Eva", "Vic")}
    for name, noise in (("Ann", 0.9), ("Bob", 1.4)):
        arena.submit(people[name], arena.truth.predictions(noise=noise, seed=ord(name[0])))
    arena.score_all()
    for name, role in (("Eva", Role.EDITOR), ("Vic", Role.VIEWER)):
        arena.give_role(people[name], role)
    return people


@pytest.fixture
def check(arena, people):
    """A function that uploads a corrected solution through the page and runs its check."""

    def do(count: int = 60) -> int:
        answer = people["Eva"].post(
            f"{ROOT}/solution", {"file": (io.BytesIO(corrected(arena, count)), "corrected.csv")}
        )
        assert answer.status_code == 303, answer.text
        job_id = int(answer.headers["Location"].rpartition("/")[2])
        assert run_job(arena.settings, arena.database, arena.storage, job_id)
        return job_id

    return do


def begin(people, job_id, reason="Sixty labels were wrong."):
    return people["Eva"].post(f"{ROOT}/rescoring", {"solution": str(job_id), "reason": reason})


def page(person, path):
    answer = person.browser.get(path)
    assert answer.status_code == 200, answer.text
    return str(answer.text)


def test_a_checked_solution_is_rescored_published_and_rolled_back(arena, people, check):
    eva, ann = people["Eva"], people["Ann"]
    for path in ("1/submissions.csv", "7"):
        assert eva.browser.get(f"{ROOT}/rescoring/{path}").status_code == 404
    job_id = check()
    assert "60 rows differ" in page(eva, f"{ROOT}/rescoring?solution={job_id}")
    assert begin(people, job_id).headers["Location"].endswith("/rescoring/2")
    waiting = page(eva, f"{ROOT}/rescoring/2")
    assert "0 of 2 submissions scored" in waiting and "data-live" in waiting
    assert ">preparing<" in waiting and ">preparing<" in page(eva, f"{ROOT}/rescoring")
    assert "Effect compared with" not in waiting
    early = eva.confirm(f"{ROOT}/rescoring/2/publish", {"notice": "Kept words."})
    assert early.status_code == 409 and "Kept words." in early.text
    assert "2 submissions are not yet scored under the new version." in early.text

    arena.score_all()
    ready, versions = page(eva, f"{ROOT}/rescoring/2"), page(eva, f"{ROOT}/rescoring")
    assert ready.count(">ready<") == versions.count(">ready<") == 1
    assert "preparing<" not in ready + versions and "data-live" not in ready
    effect = ready.partition('id="publish"')[0]
    assert "2 of 2 submissions" in effect and "Private leaderboard" in effect
    lines = page(eva, f"{ROOT}/rescoring/2/submissions.csv").splitlines()
    assert len(lines) == 3 and lines[0].startswith("submission,team_id,team,kind")
    assert "Rescoring published" not in page(ann, "/competitions/toxicity")
    asked = eva.post(f"{ROOT}/rescoring/2/publish", {"notice": ""}).text
    (summary,) = re.findall(r'<p class="lead">(.*)</p>', ready)
    assert "the largest change is" in summary
    assert all(sentence in asked for sentence in re.split(r"(?<=\.) ", summary))

    notice = "We mended labels.\nSorry for that."
    done = eva.confirm(f"{ROOT}/rescoring/2/publish", {"notice": notice})
    assert done.status_code == 303, done.text
    home = page(ann, "/competitions/toxicity")
    assert "We mended labels." in home and "Rescoring published" in home
    assert "All scores now use scoring version 2 instead of version 1." in home
    own = page(ann, "/competitions/toxicity/rescoring")
    before, after = lines[1].split(",")[6:8]
    assert before in own and after in own and before != after
    assert before in page(ann, "/competitions/toxicity/submissions/1")
    assert lines[2].split(",")[6] not in own  # Bob's score
    assert "Effect compared with version 2" in page(eva, f"{ROOT}/rescoring/1")
    refused = eva.confirm(f"{ROOT}/rescoring/1/rollback", {"reason": " "})
    assert refused.status_code == 409 and "Enter a reason" in refused.text
    back = eva.confirm(f"{ROOT}/rescoring/1/rollback", {"reason": "The correction was wrong."})
    assert back.status_code == 303
    home = page(ann, "/competitions/toxicity")
    assert "The correction was wrong." in home and "Rescoring rolled back" in home
    assert "Rescoring rolled back" in page(ann, "/competitions/toxicity/rescoring")
    assert "Rolled back from version 2: The correction" in page(eva, f"{ROOT}/rescoring")


def test_changed_settings_are_checked_and_rescored_like_a_corrected_solution(arena, people):
    eva = people["Eva"]
    form = {
        "identities": "male\nfemale",
        "power": "-3",
        "overall_auc": "0.4",
        "subgroup_auc": "0.2",
        "bpsn_auc": "0.2",
        "bnsp_auc": "0.2",
        "label_threshold": "0.5",
        "identity_threshold": "0.5",
    }
    assert "male" in page(eva, f"{ROOT}/rescoring/settings")
    wrong = eva.post(f"{ROOT}/rescoring/settings", form | {"power": "much", "overall_auc": "0.9"})
    assert wrong.status_code == 409 and "much" in wrong.text
    assert eva.post(f"{ROOT}/rescoring/settings", form | {"identities": "martian"}).status_code == 303
    run_newest(arena)
    assert "no identity column &#39;martian&#39;" in page(eva, f"{ROOT}/rescoring")
    assert eva.post(f"{ROOT}/rescoring/settings", form).status_code == 303
    waiting = page(eva, f"{ROOT}/rescoring")
    (etag,) = re.findall(
        r'data-live="/competitions/toxicity/organize/rescoring" data-etag="([^>]+)">', waiting
    )
    headers = {"Accept": "application/json", "If-None-Match": html.unescape(etag)}
    assert "Waiting for a worker" in waiting
    assert eva.browser.get(f"{ROOT}/rescoring", headers=headers).status_code == 304
    job_id = run_newest(arena)
    assert eva.browser.get(f"{ROOT}/rescoring", headers=headers).status_code == 200
    assert "Rescore all submissions with these settings" in page(eva, f"{ROOT}/rescoring")
    begun = eva.post(f"{ROOT}/rescoring", {"settings": str(job_id), "reason": "Two identities are enough."})
    assert begun.headers["Location"].endswith("/rescoring/2"), begun.text
    arena.score_all()
    ready = page(eva, f"{ROOT}/rescoring/2")
    assert "Changes to the settings" in ready and "male, female" in ready
    assert eva.confirm(f"{ROOT}/rescoring/2/publish").status_code == 303
    assert "-3" in page(people["Ann"], "/competitions/toxicity/evaluation")


def run_newest(arena):
    """Run the newest organizer job."""
    with arena.database.read() as session:
        job_id = session.scalar(select(func.max(OrganizerJob.id)))
    assert run_job(arena.settings, arena.database, arena.storage, job_id)
    return int(job_id)


@pytest.mark.parametrize("arena", ["sqlite"], indirect=True)
def test_a_difference_is_computed_once_per_state_of_the_competition(arena, people, check, monkeypatch):
    computed: list[int] = []
    compute = rescoring_difference.preview

    def counted(session, **options):
        computed.append(1)
        return compute(session, **options)

    monkeypatch.setattr(rescoring_difference, "preview", counted)
    begin(people, check())
    path = f"{ROOT}/rescoring/2"
    page(people["Eva"], path)
    assert not computed
    arena.score_all()
    complete = page(people["Eva"], path)
    assert page(people["Vic"], path).count("Ann") == complete.count("Ann")
    assert len(computed) == 1
    with arena.database.write() as session:
        team = session.scalars(select(Team).where(Team.name == "Ann")).one()
        lookup.lock(session, competition_id=team.competition_id)
        team.name = "Anna"
    assert "Anna" in page(people["Eva"], path)
    assert len(computed) == 2
