"""Open requests on Home, in the list of competitions and in the API."""

HERE = "/competitions/toxicity"


def test_merge_request_is_shown_on_home_in_the_list_and_in_the_api(arena):
    arena.competition()
    ann, bob = arena.person("Ann"), arena.person("Bob")
    ann.post(f"{HERE}/team", {"name": "Duo"})
    bob.post(f"{HERE}/team", {"name": "Solo"})
    assert "asks your team" not in bob.browser.get(HERE).text
    ann.post(f"{HERE}/team/mergers", {"name": "Solo"})
    page = bob.browser.get(HERE).text
    assert "asks your team to merge" in page and f'href="{HERE}/team"' in page
    assert f'<a href="{HERE}">1 request</a>' in bob.browser.get("/").text
    answer = arena.app.test_client().get("/api/v1/waiting", headers=bob.bearer).json
    (item,) = answer["waiting"]
    assert (item["kind"], item["competition"], item["team"], item["person"]) == (
        "merger",
        "toxicity",
        "Duo",
        "Ann",
    )


def test_token_without_the_organize_scope_cannot_list_entry_requests(arena):
    arena.competition(entry_mode="approval")
    root, bob = arena.person("Root", is_admin=True), arena.person("Bob")
    bob.post(f"{HERE}/join", {"accepted_rules_version": "1"})
    assert f'href="{HERE}/entries"' in root.browser.get(HERE).text
    client = arena.app.test_client()
    (item,) = client.get("/api/v1/waiting", headers=root.bearer).json["waiting"]
    assert (item["kind"], item["count"], item["team"]) == ("entry", 1, None)
    wanted = {"name": "reader", "scopes": ["read"]}
    reader = client.post("/api/v1/tokens", json=wanted, headers=root.bearer).json["token"]
    told = client.get("/api/v1/waiting", headers={"Authorization": f"Bearer {reader}"})
    assert told.json == {"waiting": []}
