"""Confirmation of actions: nothing changes before the user confirms exactly the reviewed state."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from sqlalchemy import select, update

from grader.models import ApiToken, Role, User
from grader.models.base import Base
from grader.services.competitions import lookup
from tests.fixtures.arena import hidden_fields
from tests.webapp.rescoring.test_pages import ROOT, begin, check, page, people
from tests.webapp.teams.test_pages import link_of

__all__ = ["check", "people"]

TEAM = "/competitions/toxicity/team"


def test_publishing_is_bound_to_its_changes_and_its_notice(
    arena, people: dict[str, Any], check: Callable[..., int]
):
    eva, path = people["Eva"], f"{ROOT}/rescoring/2/publish"
    begin(people, check())
    arena.score_all()
    asked = eva.post(path, {"notice": 'Two <lines>,\nand "quotes".'})
    assert asked.status_code == 409
    assert "Changes of displayed scores: 2 of 2 submissions; the largest change is 0." in asked.text
    fields = hidden_fields(asked.text)
    assert fields["notice"] == 'Two <lines>,\nand "quotes".'
    forged = eva.post(path, fields | {"confirm": "forged"})
    assert forged.status_code == 409 and "Something has changed in the meantime" in forged.text
    entered = eva.post(path, fields | {"change": "yes"})
    assert entered.status_code == 200 and "Two &lt;lines&gt;," in entered.text
    assert eva.post(path, fields | {"notice": "Other words."}).status_code == 409

    # This changes the leaderboards after the question was shown.
    arena.submit(people["Bob"], arena.truth.predictions(noise=0.1, seed=9))
    arena.score_all()
    again = eva.post(path, fields)
    assert again.status_code == 409 and "Something has changed in the meantime" in again.text
    assert ">ready<" in page(eva, f"{ROOT}/rescoring/2")
    assert eva.post(path, hidden_fields(again.text)).status_code == 303
    assert "Two &lt;lines&gt;," in page(people["Ann"], "/competitions/toxicity")


def test_a_confirmation_of_one_version_publishes_no_other(
    arena, people: dict[str, Any], check: Callable[..., int]
):
    eva = people["Eva"]
    begin(people, check())
    arena.score_all()
    fields = hidden_fields(eva.post(f"{ROOT}/rescoring/2/publish").text)
    assert eva.confirm(f"{ROOT}/rescoring/2/drop").status_code == 303
    begin(people, check())
    arena.score_all()
    assert eva.post(f"{ROOT}/rescoring/3/publish", fields).status_code == 409
    assert ">ready<" in page(eva, f"{ROOT}/rescoring/3")


def test_actions_that_cannot_be_undone_change_nothing_before_they_are_confirmed(arena, people):
    ann, bob, vic = (people[name] for name in ("Ann", "Bob", "Vic"))
    arena.give_role(ann, Role.OWNER)
    assert ann.post(f"{TEAM}/mergers", {"name": "Bob"}).status_code == 303
    cay = arena.person("Cay")
    assert cay.post(TEAM, {"name": "Duo"}).status_code == 303
    dan = arena.person("Dan")
    assert dan.post(link_of(cay)).status_code == 303
    with arena.database.read() as session:
        token = session.scalars(select(ApiToken.id).where(ApiToken.user_id == ann.user.id)).first()
    actions = [
        (bob, f"{TEAM}/mergers/1/accept", {}),
        (cay, f"{TEAM}/leader", {"name": "Dan"}),
        (dan, f"{TEAM}/leave", {}),
        (ann, f"{ROOT}/organizers/{vic.user.id}/remove", {}),
        (ann, f"/tokens/{token}/revoke-token", {}),
    ]
    for person, path, form in actions:
        before = rows(arena)
        asked = person.post(path, form)
        assert (asked.status_code, rows(arena) == before) == (409, True), path
        assert person.post(path, hidden_fields(asked.text)).status_code in (302, 303), path
        assert rows(arena) != before, path


def rows(arena) -> list[list[str]]:
    """Return everything that the site stores."""
    with arena.database.read() as session:
        tables = Base.metadata.sorted_tables
        return [sorted(map(repr, session.execute(select(table)).all())) for table in tables]


def test_a_close_within_minutes_requires_confirmation(arena, people: dict[str, Any]):
    eva, soon = people["Eva"], arena.now() + timedelta(minutes=9)
    client, path = arena.app.test_client(), f"/api/v1{ROOT}/settings"
    sent = {"closes_at": soon.isoformat()}
    asked = client.patch(path, json=sent, headers=eva.bearer)
    assert (asked.status_code, asked.json["error"]) == (409, "unconfirmed")
    assert [each["fields"] for each in asked.json["problems"]] == [["closes_at"]]
    with arena.database.read() as session:
        assert lookup.get(session, slug="toxicity").closes_at is None
    later = {"closes_at": (arena.now() + timedelta(days=3)).isoformat()}
    for body in (later, sent | {"confirm": asked.json["confirm"]}):
        assert client.patch(path, json=body, headers=eva.bearer).status_code == 200
    form = {"closes_at": f"{soon:%Y-%m-%dT%H:%M}", "change": "yes"}
    assert f'value="{soon:%Y-%m-%dT%H:%M}"' in eva.post(f"{ROOT}/settings/save", form).text


def test_confirmations_state_how_many_e_mails_will_be_sent(make_arena: Callable[..., Any]):
    arena = make_arena(smtp_host="127.0.0.1", smtp_sender="b@example.org", base_url="http://localhost")
    arena.competition()
    root = arena.person("Root", is_admin=True)
    for number, name in enumerate(("Ann", "Bob", "Cleo")):
        person = arena.person(name)
        arena.submit(person, arena.truth.predictions(seed=number))
        with arena.database.write() as session:
            user = session.get_one(User, person.user.id)
            user.email = f"{name}@example.org"
            user.email_verified_at = arena.now() if name != "Cleo" else None
            user.unwanted_notices = ["organizer"] if name == "Bob" else []
    arena.score_all()
    announcements, close = f"{ROOT}/announcements", f"{ROOT}/close"
    assert "Also e-mail it to 1 address</label>" in root.browser.get(announcements).text
    sent = {"title": "News", "body": "Labels.", "by_mail": "yes"}
    assert "1 e-mail will be sent." in root.post(announcements, sent).text
    assert "2 e-mails will be sent." in root.post(f"{close}/reveal").text
    with arena.database.write() as session:
        session.execute(update(User).values(email_verified_at=None))
    assert "No e-mail will be sent." in root.post(f"{close}/reveal").text
