"""Team API: the team of a link, mergers."""

from tests.fixtures.desk import open_confirmed

API = "/api/v1/competitions/toxicity"


def call(person, method, path, **sent):
    client = person.arena.app.test_client()
    return open_confirmed(client, API + path, method=method, headers=person.bearer, json=sent)


def test_the_api_describes_the_team_of_a_link_and_the_result_of_a_merger(arena):
    arena.competition(max_team_size=3)
    ann, bob = arena.person("Ann"), arena.person("Bob")
    call(ann, "POST", "/team", name="Aces")
    link = call(ann, "POST", "/team/link").json
    assert link["url"].endswith(link["token"])
    described = call(bob, "GET", f"/team/link/{link['token']}").json
    assert described == {"name": "Aces", "members": ["Ann"], "invited_by": "Ann"}
    call(bob, "POST", "/team", name="Kings")
    assert call(ann, "POST", "/team/mergers", name="Kings").status_code == 201
    (asked,) = call(bob, "GET", "/team").json["team"]["mergers"]
    assert (asked["team"], asked["is_ours"], asked["obstacle"]) == ("Aces", False, None)
    merged = call(bob, "POST", f"/team/mergers/{asked['id']}/accept").json["team"]
    assert sorted(merged["members"]) == ["Ann", "Bob"]
