"""Route manifest: completeness, and the status of each route for each role."""

import itertools

import pytest

from grader.models import Role
from tests.fixtures.routes import ROUTES, VISITS
from tests.fixtures.walks import methods, values_of

API = "/api/v1"
ROLES = ("stranger", "outsider", "owner")
NEW_LOGINS = ("POST account.sign_up", "POST account.log_out_everywhere")


def test_every_route_is_in_the_manifest(arena):
    rules = arena.app.url_map.iter_rules()
    names = {f"{method} {rule.endpoint}" for rule in rules for method in methods(rule)}
    assert set(ROUTES) | VISITS.keys() <= names
    for name in names:
        assert ROUTES[name], "Its response needs fields in visibility.py."


@pytest.mark.parametrize("is_revealed", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize("place", range(len(ROLES)))
def test_every_route_returns_the_manifests_status_for_each_role(make_scene, place, is_revealed):
    scene, role = make_scene(revealed=is_revealed), ROLES[place]
    wrong = []
    for name, route, path in _routes(scene):
        statuses = route.revealed if is_revealed and route.revealed else route.statuses
        answer = _ask(scene, role, name, path)
        if answer.status_code != statuses[place]:
            wrong.append(f"{name}: {answer.status_code}, not {statuses[place]}")
        if name in NEW_LOGINS and role != "stranger":
            scene.browser(role).delete_cookie("fairboard_login")
            scene.arena.log_in(scene.browser(role), {"outsider": "Bob", "owner": "Ann"}[role])
    assert not wrong


def test_viewers_of_a_competition_change_nothing_in_it(make_scene):
    scene = make_scene()
    scene.arena.give_role(scene.bob, Role.VIEWER)
    kept, wrong = sorted(blob.sha256 for blob in scene.arena.storage.blobs()), []
    for name, route, path in _routes(scene):
        is_organizers = "organize" in path or route.statuses[1] == 403
        if not name.startswith("GET ") and is_organizers:
            answer = _ask(scene, "outsider", name, path)
            if answer.status_code != 403:
                wrong.append(f"{name}: {answer.status_code}")
    assert not wrong
    assert sorted(blob.sha256 for blob in scene.arena.storage.blobs()) == kept


def test_unsafe_requests_need_a_csrf_token_and_must_not_come_from_another_site(make_scene):
    scene = make_scene()
    origins = [{"Origin": origin} for origin in ("https://evil.example", "null", "http://[", "//", "")]
    foreign = itertools.cycle((*origins, {"Sec-Fetch-Site": "cross-site"}))
    for name, _, path in _routes(scene):
        if name.startswith("POST ") and not name.startswith(("POST api.", "POST kaggle.")):
            for sent in ({"csrf_token": "guessed"}, {"headers": next(foreign)}):
                answer = _ask(scene, "owner", name, path, **sent)
                assert (answer.status_code, "another site" in answer.text) == (403, True), (name, sent)


def test_login_cookie_gives_no_access_to_the_api(scene):
    answer = scene.ann.browser.get(f"{API}/submissions/{scene.scored_id}")
    assert answer.status_code == 401
    assert answer.json["code"] == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_extra_columns_in_a_request_change_nothing(scene):
    scene.bob.post(
        "/tokens", {"name": "x", "scopes": "read", "user_id": "1", "is_admin": "1", "revoked_at": ""}
    )
    submission_id = scene.arena.submit(
        scene.bob,
        scene.arena.truth.predictions(),
        status="scored",
        team_id="1",
        submitted_at="2000-01-01T00:00:00Z",
        public_score="1",
    )
    answer = scene.arena.app.test_client().get(f"{API}/submissions/{submission_id}", headers=scene.bob.bearer)
    assert answer.json["status"] == "pending"
    assert not answer.json["submitted_at"].startswith("2000")
    assert "Administrator" not in scene.bob.browser.get("/account").text


def _routes(scene):
    """Return one address for each route, for Ann's scored file and a token that no other test uses."""
    rules = {rule.endpoint: rule for rule in scene.arena.app.url_map.iter_rules()}
    adapter = scene.arena.app.url_map.bind("localhost")
    derived = [f"{method} {each}" for each, rule in rules.items() for method in methods(rule)]
    for name in dict.fromkeys([*(each for each in derived if each not in ROUTES), *ROUTES]):
        route, (method, _, endpoint) = ROUTES[name], name.partition(" ")
        values = next(values_of(rules[endpoint]))
        if "token_id" in values:
            values["token_id"] = scene.spare_token_id
        yield name, route, adapter.build(endpoint, values, method)


def _ask(scene, role, name, path, *, csrf_token=None, headers=None):
    method, data = name.split()[0], dict(ROUTES[name].visit.form())
    if path.startswith(API):
        client = scene.arena.app.test_client()
        return client.open(path, method=method, data=data, headers=scene.bearer(role))
    browser = scene.browser(role)
    if method == "GET":
        return browser.get(path)
    token = csrf_token or scene.arena.form_token(browser)
    return browser.post(path, data={**data, "csrf_token": token}, headers=headers)
