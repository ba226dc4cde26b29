"""API operations: scopes, bound tokens, idempotency, strict fields, descriptions."""

import io

import pytest

from grader.models import CompetitionState, Role
from grader.services.competitions import lookup
from grader.services.identity import api_tokens
from grader.services.identity.api_tokens import Scope
from webapp.http import middleware
from webapp.http.api import OPERATIONS

API = "/api/v1"
HERE = f"{API}/competitions/toxicity"
KAGGLE = f"{API}/competitions.CompetitionApiService"
FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def ann(make_arena, database_url):
    """Ann, who has an account on a site with two competitions."""
    arena = make_arena(database_url=database_url)
    arena.competition()
    arena.competition("second")
    return arena.person("Ann")


def bearer(person, *scopes, slug=None):
    arena = person.arena
    with arena.database.write() as session:
        _, text = api_tokens.create(
            session,
            user=person.user,
            name="t",
            scopes=scopes or tuple(Scope),
            competition=lookup.get(session, slug=slug) if slug else None,
            now=arena.now(),
        )
    return {"Authorization": f"Bearer {text}"}


def call(person, method, path, headers=None, **sent):
    client = person.arena.app.test_client()
    return client.open(path, method=method, headers={**person.bearer, **(headers or {})}, **sent)


def test_a_token_creates_tokens_with_at_most_its_own_rights(ann):
    reading = bearer(ann, Scope.READ)
    made = call(ann, "POST", f"{API}/tokens", reading, json={"name": "child", "scopes": ["read"]})
    assert made.status_code == 201
    child = {"Authorization": f"Bearer {made.json['token']}"}
    assert call(ann, "GET", f"{API}/me", child).json["token"]["name"] == "child"
    more = call(ann, "POST", f"{API}/tokens", reading, json={"name": "more", "scopes": ["submit"]})
    assert (more.status_code, more.json["error"]) == (403, "insufficient_token")
    bound = bearer(ann, slug="second")
    wider = call(ann, "POST", f"{API}/tokens", bound, json={"name": "wider"})
    assert (wider.status_code, wider.json["error"]) == (403, "insufficient_token")


def test_revoking_a_token_revokes_the_tokens_created_with_it(ann):
    texts = [bearer(ann)]
    for name in ("child", "grandchild"):
        made = call(ann, "POST", f"{API}/tokens", texts[-1], json={"name": name})
        texts.append({"Authorization": f"Bearer {made.json['token']}"})
    parent_id = call(ann, "GET", f"{API}/me", texts[0]).json["token"]["id"]
    assert call(ann, "DELETE", f"{API}/tokens/{parent_id}").status_code == 204
    assert [call(ann, "GET", f"{API}/me", text).status_code for text in texts] == [401, 401, 401]


def test_a_token_cannot_revoke_tokens_with_more_rights(ann):
    more = call(ann, "GET", f"{API}/me", bearer(ann)).json["token"]["id"]
    reading = bearer(ann, Scope.READ)
    answer = call(ann, "DELETE", f"{API}/tokens/{more}", reading)
    assert (answer.status_code, answer.json["error"]) == (403, "scope_missing")
    own = call(ann, "GET", f"{API}/me", reading).json["token"]["id"]
    assert call(ann, "DELETE", f"{API}/tokens/{own}", reading).status_code == 204


def test_a_token_bound_to_a_competition_is_denied_elsewhere(ann):
    there = ann.arena.submit(ann, ann.arena.truth.predictions(), slug="second")
    here = ann.arena.submit(ann, ann.arena.truth.predictions())
    bound = bearer(ann, slug="second")
    assert call(ann, "GET", f"{API}/competitions/second/team", bound).status_code == 200
    assert call(ann, "GET", f"{API}/submissions/{there}", bound).status_code == 200
    listed = call(ann, "GET", f"{API}/competitions", bound).json["competitions"]
    assert [each["slug"] for each in listed] == ["second"]
    for path in (f"{HERE}/team", f"{API}/submissions/{here}", f"{API}/submissions/999", f"{API}/tokens"):
        answer = call(ann, "GET", path, bound)
        assert (answer.status_code, answer.json["error"]) == (403, "other_competition"), path


def test_a_bound_token_cannot_detect_other_drafts(ann):
    arena = ann.arena
    arena.competition("secret")
    with arena.database.write() as session:
        lookup.get(session, slug="secret").state = CompetitionState.DRAFT
    bound = bearer(ann, slug="second")
    for slug in ("secret", "nothing"):
        sent = {"competitionName": slug}
        seen = call(ann, "POST", f"{KAGGLE}/GetCompetition", bound, json=sent)
        assert (seen.status_code, seen.json["error"]) == (404, "unknown_competition"), slug
        made = call(ann, "POST", f"{API}/tokens", bound, json={"name": "t", "competition": slug})
        assert (made.status_code, made.json["error"]) == (404, "unknown_competition"), slug


def test_a_token_without_the_organize_scope_sees_only_participant_data(ann):
    arena = ann.arena
    bobs = arena.submit(arena.person("Bob"), arena.truth.predictions())
    arena.give_role(ann, Role.OWNER)
    reading, organizing = bearer(ann, Scope.READ), bearer(ann, Scope.READ, Scope.ORGANIZE)
    board = f"{HERE}/leaderboard?split=private"
    assert call(ann, "GET", board, reading).json["error"] == "not_revealed"
    assert call(ann, "GET", board, organizing).json["error"] == "not_settled"
    for path in (f"{API}/submissions/{bobs}", f"{API}/submissions/{bobs}/file"):
        assert call(ann, "GET", path, reading).json["error"] == "scope_missing"
        assert call(ann, "GET", path, organizing).status_code == 200
    for headers, status in ((reading, 403), (organizing, 200)):
        told = call(ann, "POST", f"{KAGGLE}/GetSubmission", headers, json={"ref": bobs})
        assert told.status_code == status


def test_the_number_of_tokens_per_user_is_limited(ann, monkeypatch):
    monkeypatch.setattr(api_tokens, "MOST", 3)
    made = [call(ann, "POST", f"{API}/tokens", json={"name": "t"}) for _ in range(3)]
    assert [each.status_code for each in made] == [201, 201, 409]
    assert made[2].json["error"] == "too_many_tokens"
    assert call(ann, "DELETE", f"{API}/tokens/{made[0].json['id']}").status_code == 204
    assert call(ann, "POST", f"{API}/tokens", json={"name": "t"}).status_code == 201


def test_every_operation_denies_tokens_without_its_scope_or_for_another_competition(ann):
    values = {"slug": "toxicity"}
    rules = [rule for rule in ann.arena.app.url_map.iter_rules() if rule.endpoint.startswith("api.")]
    adapter = ann.arena.app.url_map.bind("localhost")
    others = {scope: bearer(ann, *(each for each in Scope if each is not scope)) for scope in Scope}
    bound = bearer(ann, slug="second")
    for rule in rules:
        known = OPERATIONS[rule.endpoint.removeprefix("api.")]
        if known.scope is None:
            continue
        arguments = {
            name: values.get(name) or next(iter(getattr(rule._converters[name], "items", ())), 1)
            for name in rule.arguments
        }
        method = next(iter(rule.methods - {"HEAD", "OPTIONS"}))
        path = adapter.build(rule.endpoint, arguments, method)
        answer = call(ann, method, path, others[known.scope])
        assert (answer.status_code, answer.json["error"]) == (403, "scope_missing"), path
        if not known.spans:
            answer = call(ann, method, path, bound)
            assert (answer.status_code, answer.json["error"]) == (403, "other_competition"), path


JSON = {"content_type": "application/json"}


@pytest.mark.parametrize(
    ("sent", "name", "words"),
    [
        *(({"data": each} | JSON, "unreadable_body", "a JSON object") for each in (b"{", b"[]", b"9" * 9999)),
        ({"data": b"[" * 99_999} | JSON, "unreadable_body", "a JSON object"),
        ({"data": b"name=x", "content_type": "text/plain"}, "not_json", "Content-Type"),
        ({"data": b'{"name": "x"}', "content_type": FORM}, "not_json", "Content-Type: application/json"),
        ({"json": {}}, "unreadable", "`name` is missing."),
        ({"json": {"name": "x", "nmae": 1}}, "unreadable", "`nmae` is not a field of this request."),
        ({"json": {"name": 7, "days": "two"}}, "unreadable", "`days` must be a valid integer, not 'two'."),
        ({"json": {"name": "a\0b"}}, "unreadable", "`name` must be text without NUL"),
        ({"json": {"name": "x" * 65}}, "unreadable", "`name` must have at most 64 characters, not 'x"),
        ({"json": {"name": "x", "scopes": []}}, "unreadable", "`scopes` must have at least 1 item."),
        *(({"json": {"name": "x", "days": each}}, "unreadable", "`days`") for each in (10**400, True)),
        ({"data": {"name": "x", "scopes": "reed"}}, "unreadable", "`scopes.0`"),
    ],
)
def test_all_unreadable_fields_are_named(ann, sent, name, words):
    answer = call(ann, "POST", f"{API}/tokens", **sent)
    assert (answer.status_code, answer.json["error"]) == (400, name)
    assert words in answer.json["message"]


def test_many_unreadable_fields_are_listed_only_up_to_a_cap(ann):
    for sent in (
        {"json": {f"field {number}": number for number in range(9_000)}},
        {"json": {"name": "x", "scopes": [7] * 60_000}},
        {"json": {"name": "x", "x" * 200_000: 7}},
        {"data": {f"field {number}": number for number in range(1_900)}},
    ):
        answer = call(ann, "POST", f"{API}/tokens", **sent)
        assert (answer.status_code, answer.json["error"]) == (400, "unreadable")
        assert len(answer.data) < 20_000 and len(answer.json["problems"]) <= 30
    assert "There are 1,871 more problems." in answer.json["message"]


@pytest.mark.parametrize("path", [f"{API}/tokens", "/login", "/sign-up"])
def test_a_form_or_query_with_thousands_of_fields_is_rejected(ann, path):
    body = {"data": "a=&" * 80_000, "content_type": FORM}
    for answer in (call(ann, "POST", path, **body), call(ann, "GET", path + "?" + "a=&" * 9_000)):
        assert answer.status_code == 400


def test_a_form_with_one_value_fills_a_list(ann):
    for scopes in (["read"], ["read", "submit"]):
        made = call(ann, "POST", f"{API}/tokens", data={"name": "x", "scopes": scopes})
        assert (made.status_code, made.json["scopes"]) == (201, scopes)


@pytest.mark.parametrize("word", ["yes", "on", "t", ""])
def test_a_json_string_is_not_a_boolean(ann, word):
    number = ann.arena.submit(ann, ann.arena.truth.predictions())
    answer = call(ann, "POST", f"{API}/submissions/{number}/select", json={"selected": word})
    assert (answer.status_code, answer.json["error"]) == (400, "unreadable")
    assert "`selected` must be true or false" in answer.json["message"]
    assert (
        call(ann, "POST", f"{API}/submissions/{number}/select", data={"selected": "false"}).status_code == 200
    )


def test_a_file_can_be_sent_as_the_whole_body(ann):
    file = ann.arena.truth.predictions()
    path = f"{HERE}/submissions?description=raw&file_name=mine.csv"
    answer = call(ann, "POST", path, data=io.BytesIO(file), content_type="text/csv")
    assert answer.status_code == 201
    sent = call(ann, "GET", answer.json["url"])
    assert (sent.json["description"], sent.json["file_name"]) == ("raw", "mine.csv")
    assert call(ann, "GET", f"{answer.json['url']}/file").data == file
    empty = call(ann, "POST", f"{HERE}/submissions", data=b"", content_type="text/csv")
    assert (empty.status_code, empty.json["error"]) == (400, "file_missing")
    assert "`curl -H 'Content-Type: text/csv' --data-binary @FILE`" in empty.json["message"]


def test_an_unchanged_response_returns_304(ann):
    submission_id = ann.arena.submit(ann, ann.arena.truth.predictions())
    first = call(ann, "GET", f"{API}/submissions/{submission_id}")
    known = {"If-None-Match": first.headers["ETag"]}
    assert call(ann, "GET", f"{API}/submissions/{submission_id}", known).status_code == 304
    ann.arena.score_all()
    assert call(ann, "GET", f"{API}/submissions/{submission_id}", known).status_code == 200


def test_responses_state_the_remaining_requests(make_arena):
    arena = make_arena(rate_limits=True)
    arena.competition()
    ann = arena.person("Ann")
    left = [int(call(ann, "GET", f"{API}/me").headers["RateLimit-Remaining"]) for _ in range(3)]
    assert left == [1199, 1198, 1197]
    for _ in range(30):
        answer = call(ann, "POST", f"{HERE}/check", data={"file": (io.BytesIO(b"id,prediction\n"), "p.csv")})
    assert (answer.status_code, answer.headers["RateLimit-Remaining"]) == (200, "0")
    refused = call(ann, "POST", f"{HERE}/check", data={"file": (io.BytesIO(b"id,prediction\n"), "p.csv")})
    assert (refused.status_code, refused.json["error"]) == (429, "too_many_requests")
    assert 0 < int(refused.headers["Retry-After"]) <= 61  # The end of the window is rounded up.


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", f"{API}/me", 200), ("POST", f"{HERE}/submissions", 201), ("GET", f"{API}/nothing", 404)],
)
def test_request_that_outlives_the_broker_is_answered(make_arena, valkey, method, path, status):
    arena = make_arena(rate_limits=True, broker_url=valkey.url)
    arena.competition()
    ann = arena.person("Ann")

    def end_the_broker(response):
        valkey.kill()
        return response

    assert "RateLimit-Reset" in call(ann, "GET", f"{API}/me").headers
    arena.app.after_request_funcs[None].append(end_the_broker)  # the last one runs first
    files = {"data": {"file": (io.BytesIO(arena.truth.predictions()), "p.csv")}} if method == "POST" else {}
    answer = call(ann, method, path, **files)
    assert answer.status_code == status
    assert "RateLimit-Reset" not in answer.headers


def test_the_kaggle_commands_calls_share_the_api_rate_limit(make_arena, monkeypatch):
    monkeypatch.setattr(middleware, "API_RATE", "2/minute")
    arena = make_arena(rate_limits=True)
    arena.competition()
    ann = arena.person("Ann")
    asked = [call(ann, "POST", f"{KAGGLE}/ListCompetitions", json={}) for _ in range(3)]
    assert [each.status_code for each in asked] == [200, 200, 429]
    introspect = f"{API}/security.OAuthService/IntrospectToken"
    assert [call(ann, "POST", introspect, json={"token": "x"}).status_code for _ in range(3)] == [200] * 3
