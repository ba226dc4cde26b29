"""The organizers' pages of a solution: upload, progress, report, roles, acceptance, and who may see them."""

import io
import re
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import pytest

from grader import db
from grader.models import Organizer, Role
from grader.services.audit.log import Actor
from grader.services.competitions import lookup
from grader.services.competitions.settings_model import CompetitionSettings
from grader.services.jobs import organizer_jobs
from grader.services.setup import drafts
from grader.worker.organizer_jobs.program import OrganizerWorker

HERE = "/competitions/next/organize/solution"


@pytest.fixture
def site(make_arena: Callable[..., Any]) -> Any:
    """Olga owns a draft, Vera looks at it, Eve has no part in it."""
    arena = make_arena()
    arena.olga, arena.vera, arena.eve = (arena.person(name) for name in ("Olga", "Vera", "Eve"))
    with arena.database.write() as session:
        settings = CompetitionSettings().changed(title="Next")
        actor = Actor.of(arena.olga.user)
        draft = drafts.create(session, slug="next", settings=settings, actor=actor, now=arena.now())
        add_viewer(session, draft, arena)
    return arena


def add_viewer(session: Any, competition: Any, arena: Any) -> None:
    role = Organizer(
        competition_id=competition.id, user_id=arena.vera.user.id, role=Role.VIEWER, added_at=arena.now()
    )
    session.add(role)


def work(arena: Any) -> None:
    """Do what the sweeper's lane does until no job waits."""
    with arena.database.read() as session:
        waiting = organizer_jobs.waiting(session, limit=9, now=db.now(session))
    for job_id in waiting:
        assert OrganizerWorker(arena.settings, arena.database, arena.storage).run(job_id)


def upload(arena: Any, csv: bytes, *, here: str = HERE, test: bytes | None = None, by: Any = None) -> Any:
    data = {"file": (io.BytesIO(csv), "truth.csv")}
    if test is not None:
        data["test"] = (io.BytesIO(test), "test.csv")
    return (by or arena.olga).post(here, data)


def checked(arena: Any, csv: bytes, **options: Any) -> str:
    answer = upload(arena, csv, **options)
    assert answer.status_code == 303, answer.text
    work(arena)
    return str(answer.location)


def test_a_draft_gets_its_solution_from_the_upload_to_the_acceptance(site: Any) -> None:
    assert "Upload the solution" in site.olga.browser.get(HERE).text
    answer = upload(site, site.truth.solution())
    location = answer.location
    waiting = site.olga.browser.get(location).text
    assert "Waiting for a worker" in waiting and "data-live" in waiting
    assert site.olga.browser.get(f"{location}/status").json["is_final"] is False
    work(site)
    assert site.olga.browser.get(f"{location}/status").json["is_final"] is True
    page = site.olga.browser.get(location).text
    assert "Accept and continue" in page
    assert "Each of the 400 ids appears once." in page
    assert "black or african" in page
    accepted = site.olga.post(f"{location}/accept")
    assert (accepted.status_code, accepted.location) == (303, "/competitions/next/organize/data")
    assert "Continue to the review" in site.olga.browser.get(accepted.location).text
    front = site.olga.browser.get(HERE).text
    assert "The solution in use" in front and "Continue to the data files" in front
    assert f"Fairboard {version('fairboard')} " in front
    assert re.search(r'<code class="digest">[0-9a-f]{64}</code>', front)
    with site.database.read() as session:
        live = lookup.live(lookup.get(session, slug="next"))
    assert live.solution.row_count == 400


def test_roles_are_changed_and_the_file_checked_again(site: Any) -> None:
    location = checked(site, site.truth.solution())
    page = site.olga.browser.get(location).text
    fields = dict(re.findall(r'<label for="(role-\d+)"><strong>([^<]+)</strong>', page))
    [male] = [field for field, name in fields.items() if name == "male"]
    again = site.olga.post(f"{location}/roles", {male: "unused"})
    assert again.status_code == 303 and again.location != location
    work(site)
    page = site.olga.browser.get(again.location).text
    assert re.search(r"Not used: [^.]*\bmale\b", page)
    assert "<option selected>unused</option>" in page


def test_canary_rows_are_asked_for_at_the_upload_or_with_the_roles(site: Any) -> None:
    answer = site.olga.post(
        HERE,
        {
            "file": (io.BytesIO(site.truth.solution()), "truth.csv"),
            "canaries": "40",
            "canaries_from_scored": "true",
        },
    )
    work(site)
    page = site.olga.browser.get(answer.location).text
    assert "40 rows are canary rows" in page and "once in 137,846,528,820 files" in page
    assert re.search(r'<input id="canaries"[^>]* value="40">', page)
    again = site.olga.post(f"{answer.location}/roles", {"canaries": "20", "canaries_from_scored": "true"})
    work(site)
    assert "20 rows are canary rows" in site.olga.browser.get(again.location).text
    without = site.olga.post(f"{again.location}/roles", {"canaries": "0"})
    work(site)
    assert "are canary rows" not in site.olga.browser.get(without.location).text
    refused = site.olga.post(f"{without.location}/roles", {"canaries": "12"})
    assert refused.status_code == 409 and "Ask for 20 to 100 canary rows" in refused.text


def test_what_is_wrong_with_a_file_is_listed_and_its_roles_stay_changeable(site: Any) -> None:
    csv = site.truth.solution().replace(b"Public", b"Pubic", 1)
    page = site.olga.browser.get(checked(site, csv)).text
    assert "The file has 1 problem." in page
    assert "Pubic" in page and "Check again with these choices" in page
    assert "Accept and continue" not in page


def test_what_stops_a_competition_is_said_and_cannot_be_accepted(site: Any) -> None:
    location = checked(site, site.truth.solution(), test=b"id\nelsewhere\n")
    page = site.olga.browser.get(location).text
    assert "Problems to fix" in page and "Accept and continue" not in page
    refused = site.olga.post(f"{location}/accept")
    assert refused.status_code == 409
    assert "problems that you must fix" in refused.text


def test_an_upload_without_a_file_is_told_so(site: Any) -> None:
    answer = site.olga.post(HERE, {})
    assert answer.status_code == 400
    assert "No file has arrived" in answer.text


def test_a_check_can_be_stopped(site: Any) -> None:
    location = upload(site, site.truth.solution()).location
    assert "Stop this check" in site.olga.browser.get(location).text
    assert site.olga.post(f"{location}/dismiss").status_code == 303
    assert "truth.csv" not in site.olga.browser.get(HERE).text
    work(site)
    assert "The check was dismissed" in site.olga.browser.get(location).text


def test_a_viewer_sees_everything_and_changes_nothing(site: Any) -> None:
    location = checked(site, site.truth.solution())
    page = site.vera.browser.get(location).text
    assert "Roles of the columns" in page
    assert "Accept and continue" not in page and "Check again with" not in page
    assert "Upload and check" not in site.vera.browser.get(HERE).text
    for path in (HERE, f"{location}/accept", f"{location}/roles", f"{location}/dismiss"):
        assert site.vera.post(path).status_code == 403
    assert upload(site, b"x", by=site.vera).status_code == 403


def test_nobody_else_learns_that_there_is_a_draft(site: Any) -> None:
    location = checked(site, site.truth.solution())
    for path in (HERE, location, f"{location}/status", f"{location}/changes.csv"):
        assert site.eve.browser.get(path).status_code == 404
        assert site.app.test_client().get(path).status_code == 302
    assert upload(site, b"x", by=site.eve).status_code == 404


def test_a_corrected_solution_shows_what_changes_and_gives_it_as_csv(site: Any) -> None:
    competition = site.competition()
    with site.database.write() as session:
        add_viewer(session, competition, site)
        session.add(
            Organizer(
                competition_id=competition.id,
                user_id=site.olga.user.id,
                role=Role.OWNER,
                added_at=site.now(),
            )
        )
    here = "/competitions/toxicity/organize/solution"
    csv = site.truth.solution().replace(b"Public", b"Private", 1)
    location = checked(site, csv, here=here)
    page = site.olga.browser.get(location).text
    assert "1 row moves between Public and Private" in page
    assert "1 row from Public to Private" in page
    table = site.vera.browser.get(f"{location}/changes.csv")
    assert table.mimetype == "text/csv"
    assert table.text.startswith("id,column,before,after\n") and "Usage,Public,Private" in table.text
    assert site.eve.browser.get(f"{location}/changes.csv").status_code == 403
    assert site.olga.browser.get(f"{HERE}/{location.rsplit('/', 1)[1]}").status_code == 404
