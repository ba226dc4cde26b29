"""Team API: create, invite, merge, leave."""

from tests.fixtures.desk import open_confirmed

API = "/api/v1/competitions/toxicity"


def call(person, method: str, path: str, **sent):
    client = person.arena.app.test_client()
    return open_confirmed(client, API + path, method=method, headers=person.bearer, json=sent)


def test_users_join_a_team_by_an_invitation_and_by_a_link(arena):
    arena.competition(max_team_size=3)
    ann, bob, cem = (arena.person(name) for name in ("Ann", "Bob", "Cem"))
    made = call(ann, "POST", "/team", name="Aces")
    assert (made.status_code, made.json["team"]["name"]) == (201, "Aces")
    assert call(ann, "POST", "/team/invitations", name="Bob").json["team"]["invited"][0]["person"] == "Bob"
    (invitation,) = call(bob, "GET", "/team").json["invitations"]
    assert invitation["team"] == "Aces"
    assert call(bob, "POST", f"/team/invitations/{invitation['id']}/accept").status_code == 200
    link = call(ann, "POST", "/team/link").json
    assert link["url"].endswith(link["token"])
    assert call(cem, "GET", f"/team/link/{link['token']}").json == {
        "name": "Aces",
        "members": ["Ann", "Bob"],
        "invited_by": "Ann",
    }
    joined = call(cem, "POST", f"/team/link/{link['token']}").json["team"]
    assert (joined["members"], joined["leader"], joined["has_link"]) == (["Ann", "Bob", "Cem"], "Ann", True)
    assert call(ann, "POST", "/team/leader", name="Cem").json["team"]["leader"] == "Cem"
    assert call(ann, "POST", "/team/leave").json["team"] is None


def test_two_teams_merge_when_the_other_leader_accepts(arena):
    arena.competition(max_team_size=3)
    ann, bob = arena.person("Ann"), arena.person("Bob")
    call(ann, "POST", "/team", name="Aces")
    call(bob, "POST", "/team", name="Kings")
    assert call(ann, "POST", "/team/mergers", name="Kings").status_code == 201
    (asked,) = call(bob, "GET", "/team").json["team"]["mergers"]
    assert (asked["team"], asked["is_ours"], asked["obstacle"]) == ("Aces", False, None)
    outlook = call(bob, "GET", f"/team/mergers/{asked['id']}").json
    assert outlook["sum"]["member_count"] == 2
    merged = call(bob, "POST", f"/team/mergers/{asked['id']}/accept").json["team"]
    assert sorted(merged["members"]) == ["Ann", "Bob"]
