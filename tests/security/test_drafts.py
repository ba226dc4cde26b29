"""Drafts: other users get the same responses as for an unknown slug."""

from datetime import timedelta

import pytest

from grader.models import CompetitionState, Role
from grader.services.competitions import lookup
from tests.fixtures.routes import ROUTES
from tests.fixtures.walks import addresses

pytestmark = pytest.mark.system

DRAFT, UNKNOWN = "drafted", "unknown"  # Equal lengths; otherwise the responses would differ.
SECRET = "Nobody knows of this yet"


@pytest.fixture
def site(make_arena):
    """A published competition of Olga's in which Ann participates, and a draft of Dan's."""
    arena = make_arena()
    arena.competition()
    arena.competition(DRAFT, title=SECRET, opens_at=arena.now() - timedelta(days=1))
    arena.people = {name: arena.person(name) for name in ("Ann", "Olga", "Dan")}
    arena.submit(arena.people["Ann"], arena.truth.predictions(noise=2.0))
    arena.submit(arena.people["Dan"], arena.truth.predictions(noise=2.0), DRAFT)
    arena.score_all()
    arena.give_role(arena.people["Olga"], Role.OWNER)
    arena.give_role(arena.people["Dan"], Role.OWNER, DRAFT)
    with arena.database.write() as session:
        draft = lookup.get(session, slug=DRAFT)
        draft.state, draft.stage_name = CompetitionState.DRAFT, SECRET
        draft.previous_stage_id = lookup.get(session, slug="toxicity").id
    return arena


@pytest.mark.parametrize(
    "name", [None, pytest.param("Ann", marks=pytest.mark.long), pytest.param("Olga", marks=pytest.mark.long)]
)
def test_draft_returns_the_same_response_as_an_unknown_slug(site, name):
    asked = 0
    for method, endpoint, path in addresses(site.app):
        if not path.startswith(("/competitions/toxicity", "/api/v1/competitions/toxicity")):
            continue
        form = ROUTES[f"{method} {endpoint}"].visit.form
        known, unknown = (
            _ask(site, name, method, path.replace("toxicity", slug, 1), form()) for slug in (DRAFT, UNKNOWN)
        )
        assert known.replace(DRAFT, UNKNOWN) == unknown, f"{method} {path}"
        assert SECRET not in known
        asked += 1
    assert asked > 30


@pytest.mark.parametrize("name", [None, "Ann", "Olga"])
def test_draft_is_in_no_list(site, name):
    browser = site.people[name].browser if name else site.app.test_client()
    bearer = site.people[name].bearer if name else {}
    stages = "/competitions/toxicity", "/competitions/toxicity/log", "/api/v1/competitions/toxicity"
    for path in ("/", "/account", "/api/v1/competitions", "/livez", "/healthz", "/readyz", *stages):
        text = browser.get(path, headers=bearer).text
        assert DRAFT not in text
        assert SECRET not in text


def test_owner_finds_the_draft(site):
    dan = site.people["Dan"]
    assert SECRET in dan.browser.get("/").text
    assert SECRET in dan.browser.get(f"/competitions/{DRAFT}").text
    assert dan.browser.get(f"/competitions/{DRAFT}/leaderboard").status_code == 200


def _ask(site, name, method, path, form):
    person = site.people[name] if name else None
    browser = person.browser if person else site.app.test_client()
    data = None
    if method == "POST":
        data = {"csrf_token": site.form_token(browser), **form}
    answer = browser.open(path, method=method, data=data, headers=person.bearer if person else {})
    headers = sorted(line for line in map(str, answer.headers.to_wsgi_list()) if "Set-Cookie" not in line)
    return f"{answer.status} {headers} {answer.get_data(as_text=True)}"
