"""Solution pages: upload, progress, report, roles, acceptance, access."""

import io
import re
from importlib.metadata import version

import pytest

from grader.models import Role
from grader.services.competitions import drafts, lookup, settings
from grader.services.competitions.settings_model import CompetitionSettings
from grader.services.site.log import Actor

HERE = "/competitions/next/organize/solution"


@pytest.fixture
def site(make_arena):
    """A draft that Olga owns and Vera can view; Eve has no role in it."""
    arena = make_arena()
    arena.olga, arena.vera, arena.eve = (arena.person(name) for name in ("Olga", "Vera", "Eve"))
    with arena.database.write() as session:
        chosen = CompetitionSettings().changed(title="Next")
        actor = Actor.of(arena.olga.user)
        drafts.create(session, slug="next", settings=chosen, actor=actor, now=arena.now())
    arena.give_role(arena.vera, Role.VIEWER, "next")
    return arena


def upload(arena, csv, *, here=HERE, test=None, by=None):
    data = {"file": (io.BytesIO(csv), "truth.csv")}
    if test is not None:
        data["test"] = (io.BytesIO(test), "test.csv")
    return (by or arena.olga).post(here, data)


def checked(arena, csv, **options):
    answer = upload(arena, csv, **options)
    assert answer.status_code == 303, answer.text
    arena.work()
    return str(answer.location)


def test_a_solution_is_uploaded_checked_and_accepted(site):
    assert "Upload the solution" in site.olga.browser.get(HERE).text
    answer = upload(site, site.truth.solution())
    location = answer.location
    waiting = site.olga.browser.get(location).text
    assert "Waiting for a worker" in waiting and "data-live" in waiting
    polled = {"Accept": "application/json"}
    assert site.olga.browser.get(location, headers=polled).json["is_final"] is False
    site.work()
    assert site.olga.browser.get(location, headers=polled).json["is_final"] is True
    page = site.olga.browser.get(location).text
    assert "Accept and continue" in page
    assert "black or african" in page
    accepted = site.olga.post(f"{location}/accept")
    assert (accepted.status_code, accepted.location) == (303, "/competitions/next/organize/settings")
    front = site.olga.browser.get(HERE).text
    assert "Solution in use" in front
    assert f"Fairboard {version('fairboard')} " in front
    assert re.search(r'<code class="digest">[0-9a-f]{64}</code>', front)
    with site.database.read() as session:
        live = lookup.live(lookup.get(session, slug="next"))
    assert live.solution.row_count == 400


def test_changing_roles_checks_the_file_again(site):
    location = checked(site, site.truth.solution())
    page = site.olga.browser.get(location).text
    fields = dict(re.findall(r'<label for="(role-\d+)">(?:Role of )?<strong>([^<]+)</strong>', page))
    [male] = [field for field, name in fields.items() if name == "male"]
    again = site.olga.post(f"{location}/roles", {male: "unused"})
    assert again.status_code == 303 and again.location != location
    site.work()
    page = site.olga.browser.get(again.location).text
    assert re.search(r"Not used: [^.]*\bmale\b", page)
    assert "<option selected>unused</option>" in page
    shown = page[page.index('class="roles"') :]
    assert re.search(
        r'<li class="clear"><details><summary><strong>id</strong> <span class="pill">id</span>', shown
    )
    # An unused column still has a menu.
    assert re.search(rf'<li><label for="{male}"><strong>male</strong>', shown)


def test_a_solution_with_problems_cannot_be_accepted_but_its_roles_stay_editable(site):
    csv = site.truth.solution().replace(b"Public", b"Pubic", 1)
    page = site.olga.browser.get(checked(site, csv)).text
    assert "Pubic" in page and "Check again with these choices" in page
    assert "Accept and continue" not in page
    location = checked(site, site.truth.solution(), test=b"id\nelsewhere\n")
    page = site.olga.browser.get(location).text
    assert "Problems to fix" in page and "Accept and continue" not in page
    assert site.olga.post(f"{location}/accept").status_code == 409


def test_a_check_can_be_cancelled(site):
    location = upload(site, site.truth.solution()).location
    assert "Stop this check" in site.olga.browser.get(location).text
    assert site.olga.post(f"{location}/dismiss").status_code == 303
    assert "truth.csv" not in site.olga.browser.get(HERE).text
    site.work()
    assert "The check was dismissed" in site.olga.browser.get(location).text


def test_a_corrected_solution_shows_its_changes_and_exports_them_as_csv(site):
    site.competition()
    site.give_role(site.vera, Role.VIEWER)
    site.give_role(site.olga, Role.OWNER)
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


PAGE = "/competitions/next/organize/settings"


def ticked(page):
    """Return the identities whose boxes are ticked."""
    boxes = re.findall(r'<input type="checkbox" name="identities" value="([^"]+)"([^>]*)>', page)
    return [name for name, rest in boxes if " checked" in rest]


def select(arena, page, names):
    version = re.findall(r'name="version" value="(\w+)"', page)[0]
    return arena.olga.post(f"{PAGE}/save", {"version": version, "ticked": "yes", "identities": ["", *names]})


def in_use(arena):
    with arena.database.read() as session:
        return settings.of(lookup.get(session, slug="next")).identities


def test_identities_are_selected_when_the_solution_is_accepted_and_checked_first(site):
    location = checked(site, site.truth.solution())
    page = site.olga.browser.get(location).text
    names = ticked(page)
    assert len(names) > 1
    answer = select(site, page, names[:1])
    assert "/organize/solution/" in answer.location
    site.work()
    assert site.olga.post(f"{answer.location}/accept").status_code == 303
    assert in_use(site) == tuple(names[:1])
    front = site.olga.browser.get(HERE).text
    assert ticked(front) == names[:1]
    none = select(site, front, [])
    assert none.status_code == 409 and "No identity is selected for the score" in none.text
    again = select(site, front, names)
    site.work()
    assert site.vera.post(f"{again.location}/accept").status_code == 403
    assert site.olga.post(f"{again.location}/accept").status_code == 303
    assert set(in_use(site)) == set(names)
