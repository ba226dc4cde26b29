"""The organizers' pages of a solution: upload, progress, report, roles, acceptance, and who may see them."""

import io
import re
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import pytest

from grader.models import Role
from grader.services.audit.log import Actor
from grader.services.competitions import lookup, settings
from grader.services.competitions.settings_model import CompetitionSettings
from grader.services.setup import drafts

HERE = "/competitions/next/organize/solution"


@pytest.fixture
def site(make_arena: Callable[..., Any]):
    """Olga owns a draft, Vera looks at it, Eve has no part in it."""
    arena = make_arena()
    arena.olga, arena.vera, arena.eve = (arena.person(name) for name in ("Olga", "Vera", "Eve"))
    with arena.database.write() as session:
        chosen = CompetitionSettings().changed(title="Next")
        actor = Actor.of(arena.olga.user)
        drafts.create(session, slug="next", settings=chosen, actor=actor, now=arena.now())
    arena.give_role(arena.vera, Role.VIEWER, "next")
    return arena


def upload(arena, csv: bytes, *, here: str = HERE, test: bytes | None = None, by=None):
    data = {"file": (io.BytesIO(csv), "truth.csv")}
    if test is not None:
        data["test"] = (io.BytesIO(test), "test.csv")
    return (by or arena.olga).post(here, data)


def checked(arena, csv: bytes, **options) -> str:
    answer = upload(arena, csv, **options)
    assert answer.status_code == 303, answer.text
    arena.work()
    return str(answer.location)


def test_a_draft_gets_its_solution_from_the_upload_to_the_acceptance(site):
    assert "Upload the solution" in site.olga.browser.get(HERE).text
    answer = upload(site, site.truth.solution())
    location = answer.location
    waiting = site.olga.browser.get(location).text
    assert "Waiting for a worker" in waiting and "data-live" in waiting
    assert site.olga.browser.get(f"{location}/status").json["is_final"] is False
    site.work()
    assert site.olga.browser.get(f"{location}/status").json["is_final"] is True
    page = site.olga.browser.get(location).text
    assert "Accept and continue" in page
    assert "Each of the 400 ids appears once." in page
    assert "black or african" in page
    accepted = site.olga.post(f"{location}/accept")
    assert (accepted.status_code, accepted.location) == (303, "/competitions/next/organize/settings/metric")
    data = site.olga.browser.get("/competitions/next/organize/data").text
    assert "Continue to review and publish" in data
    front = site.olga.browser.get(HERE).text
    assert "The solution in use" in front and "Continue to metric and feedback" in front
    assert f"Fairboard {version('fairboard')} " in front
    assert re.search(r'<code class="digest">[0-9a-f]{64}</code>', front)
    with site.database.read() as session:
        live = lookup.live(lookup.get(session, slug="next"))
    assert live.solution.row_count == 400


def test_roles_are_changed_and_the_file_checked_again(site):
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
    assert re.search(rf'<li><label for="{male}"><strong>male</strong>', shown)  # an unused one keeps its menu


def test_canary_rows_are_asked_for_at_the_upload_or_with_the_roles(site):
    answer = site.olga.post(
        HERE,
        {
            "file": (io.BytesIO(site.truth.solution()), "truth.csv"),
            "canaries": "40",
            "canaries_from_scored": "true",
        },
    )
    site.work()
    page = site.olga.browser.get(answer.location).text
    assert "40 rows are canary rows" in page and "once in 137,846,528,820 files" in page
    assert re.search(r'<input id="canaries"[^>]* value="40">', page)
    again = site.olga.post(f"{answer.location}/roles", {"canaries": "20", "canaries_from_scored": "true"})
    site.work()
    assert "20 rows are canary rows" in site.olga.browser.get(again.location).text
    without = site.olga.post(f"{again.location}/roles", {"canaries": "0"})
    site.work()
    assert "are canary rows" not in site.olga.browser.get(without.location).text
    refused = site.olga.post(f"{without.location}/roles", {"canaries": "12"})
    assert refused.status_code == 409 and "Ask for 20 to 100 canary rows" in refused.text


def test_what_is_wrong_with_a_file_is_listed_and_its_roles_stay_changeable(site):
    csv = site.truth.solution().replace(b"Public", b"Pubic", 1)
    page = site.olga.browser.get(checked(site, csv)).text
    assert "The file has 1 problem." in page
    assert "Pubic" in page and "Check again with these choices" in page
    assert "Accept and continue" not in page


def test_what_stops_a_competition_is_said_and_cannot_be_accepted(site):
    location = checked(site, site.truth.solution(), test=b"id\nelsewhere\n")
    page = site.olga.browser.get(location).text
    assert "Problems to fix" in page and "Accept and continue" not in page
    refused = site.olga.post(f"{location}/accept")
    assert refused.status_code == 409
    assert "problems that you must fix" in refused.text


def test_an_upload_without_a_file_is_told_so(site):
    answer = site.olga.post(HERE, {})
    assert answer.status_code == 400
    assert "No file has arrived" in answer.text


def test_a_check_can_be_stopped(site):
    location = upload(site, site.truth.solution()).location
    assert "Stop this check" in site.olga.browser.get(location).text
    assert site.olga.post(f"{location}/dismiss").status_code == 303
    assert "truth.csv" not in site.olga.browser.get(HERE).text
    site.work()
    assert "The check was dismissed" in site.olga.browser.get(location).text


def test_a_corrected_solution_shows_what_changes_and_gives_it_as_csv(site):
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


METRIC = "/competitions/next/organize/settings/metric"


def accepted(arena):
    """Give the draft its solution."""
    assert arena.olga.post(f"{checked(arena, arena.truth.solution())}/accept").status_code == 303


def ticked(page: str) -> list[str]:
    """Return the identities whose boxes are ticked."""
    boxes = re.findall(r'<input type="checkbox" name="identities" value="([^"]+)"([^>]*)>', page)
    return [name for name, rest in boxes if " checked" in rest]


def formula(**changed: str) -> dict[str, Any]:
    """Return what the metric step sends beside its ticks."""
    usual = {"feedback": "open", "feedback_step": "0.002", "power": "-5", "label_threshold": "0.5"}
    weights = dict.fromkeys(("overall_auc", "subgroup_auc", "bpsn_auc", "bnsp_auc"), "0.25")
    return usual | weights | {"identity_threshold": "0.5"} | changed


def in_use(arena) -> tuple[str, ...]:
    with arena.database.read() as session:
        return settings.of(lookup.get(session, slug="next")).identities


def test_the_metric_step_asks_for_the_solution_first(site):
    page = site.olga.browser.get(METRIC).text
    assert "you tick them here" in page and not ticked(page)
    assert 'name="identities"' in page  # names can still be typed


def test_identities_are_ticked_in_the_report_with_their_counts_and_errors(site):
    accepted(site)
    page = site.olga.browser.get(METRIC).text
    assert tuple(ticked(page)) == in_use(site)
    assert re.search(r"Expected standard error of a score:\s+public <strong>0\.\d{4}</strong>", page)
    assert "<textarea" not in page[page.index('id="identities"') :]


def test_another_choice_is_checked_before_it_is_used(site):
    accepted(site)
    before = in_use(site)
    assert len(before) > 1
    answer = site.olga.post(METRIC, formula() | {"identities": list(before[:1]), "next": "yes"})
    assert (answer.status_code, answer.location) == (303, METRIC)
    assert in_use(site) == before
    page = site.olga.browser.get(METRIC).text
    assert "is being checked with the solution" in page and "data-live" in page
    assert ticked(page) == list(before[:1])
    assert site.olga.browser.get(f"{METRIC}/status").json["is_final"] is False
    site.work()
    page = site.olga.browser.get(METRIC).text
    assert "Your choice can be used:" in page and "(in use 0." in page
    [accept] = re.findall(r'action="([^"]+/metric/accept/\d+)"', page)
    assert site.vera.post(accept).status_code == 403
    assert site.olga.post(accept).status_code == 303
    assert in_use(site) == before[:1]
    assert "Your choice can be used" not in site.olga.browser.get(METRIC).text


def test_saving_a_checked_choice_again_uses_it_and_going_back_drops_it(site):
    accepted(site)
    before = in_use(site)
    one = formula() | {"identities": list(before[:1])}
    site.olga.post(METRIC, one, follow_redirects=True)
    site.olga.post(METRIC, formula() | {"identities": list(before)})
    page = site.olga.browser.get(METRIC).text
    assert "being checked" not in page and tuple(ticked(page)) == before
    site.olga.post(METRIC, one)
    site.work()
    answer = site.olga.post(METRIC, one | {"next": "yes"})
    assert answer.location == "/competitions/next/organize/data"
    assert in_use(site) == before[:1]


def test_without_a_tick_nothing_is_saved_and_the_reason_is_told(site):
    accepted(site)
    answer = site.olga.post(METRIC, formula(feedback="score"))
    assert answer.status_code == 422 and "at least one identity" in answer.text
    assert ticked(answer.text) == []


def test_a_choice_before_the_acceptance_is_checked_with_the_same_file(site):
    checked(site, site.truth.solution())
    names = ticked(site.olga.browser.get(METRIC).text)
    unchanged = site.olga.post(METRIC, formula() | {"identities": names})
    assert unchanged.location == METRIC
    answer = site.olga.post(METRIC, formula() | {"identities": names[:1]})
    assert "/organize/solution/" in answer.location
    site.work()
    assert site.olga.post(f"{answer.location}/accept").status_code == 303
    assert in_use(site) == tuple(names[:1])


def test_each_step_says_what_is_missing_and_leads_there(site):
    page = site.olga.browser.get("/competitions/next/organize/settings/basics").text
    steps = page[page.index('class="steps"') : page.index("</nav>", page.index('class="steps"'))]
    assert re.findall(r'<span class="title" title="([^"]+)">', steps) == [
        "Basics and texts",
        "Dates and limits",
        "Entry and teams",
        "Solution",
        "Metric and feedback",
        "Data files",
    ]
    assert "Publish</a>" in steps
    assert steps.count("(1 missing)") == 2  # the solution, and the metric that waits for it
    review = site.olga.browser.get("/competitions/next/organize/state").text
    assert 'href="/competitions/next/organize/settings/basics#overview"' in review
    accepted(site)
    steps = site.olga.browser.get("/competitions/next/organize/settings/basics").text
    assert "missing)" not in steps and steps.count("(done)") >= 1
