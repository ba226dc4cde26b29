"""Confirmation pages: actions that require one, and no changes before the user confirms."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from grader.models import ApiToken, MergeRequest, RequestState, Role, User
from grader.services.competitions import acting, lookup, organizers
from grader.services.identity import api_tokens
from grader.services.site.log import Actor
from grader.services.teams import rosters
from tests.fixtures.arena import hidden_fields
from tests.webapp.rescoring.test_pages import ROOT, begin, check, page, people
from tests.webapp.teams.test_pages import link_of

__all__ = ["check", "people"]

# Actions that ask for confirmation on a separate page, always or in dangerous cases.
ASKS = """
account.revoke_token organize_announcements.post organize_announcements.withdraw
organize_close.now organize_publishing.archive account.unlink_identity people.unlink
account.remove_factor people.reset_second_factors people.suspend people.delete
organize_close.publish_solution organize_data.allow organize_publishing.delete
organize_close.reveal organize_data.remove organize_organizers.change organize_organizers.remove
organize_publishing.publish organize_rescoring.drop organize_rescoring.publish organize_rescoring.roll_back
organize_settings.save organize_teams.disqualify teams.answer_merge
teams.hand_over teams.leave
"""
# Actions whose form is the confirmation: a required checkbox, password, code, reason or text.
TICKED_OR_TYPED = """
account.change_email account.change_password account.delete_account account.reset account.set_up
account.sign_up account.sign_up_by_link account.link_identity account.sign_up_with entry.join
account.add_factor account.second_factor account.unlock_factors
organize_close.reopen_selection
organize_teams.rename submissions.submit
"""
# Actions that can be undone or repeated, or that only add something.
HARMLESS = """
account.ask_for_reset account.choose_notices account.create_token account.end_login
organize_announcements.edit organize_roster.import_students account.new_recovery_codes
account.log_in account.log_in_by_link account.log_out account.log_out_everywhere
account.join_class
account.verify entry.decide
organize_console.pause organize_console.resume
organize_settings.preview organize_settings.remove_figure
organize_settings.upload_figure organize_settings.upload_metric_file organize_creating.create
organize_data.add_baseline organize_data.check_again organize_data.upload
organize_organizers.add organize_rescoring.check_settings
organize_publishing.next_stage organize_publishing.unarchive organize_teams.carry_over
organize_rescoring.prepare organize_solution.accept organize_solution.change_roles organize_solution.dismiss
organize_solution.upload organize_submissions.mark organize_submissions.retry
organize_submissions.retry_all organize_teams.grant organize_teams.grant_to_all
organize_teams.reinstate people.create_reset_link people.invite people.reinstate
submissions.compute submissions.describe submissions.select submissions.submit_again
teams.accept_link teams.create teams.make_link teams.rename teams.request_merge teams.revoke_link
teams.choose_division organize_teams.divide organize_teams.divide_all
"""


def test_every_action_is_classified(arena):
    rules = [rule for rule in arena.app.url_map.iter_rules() if "POST" in (rule.methods or ())]
    acts = {rule.endpoint for rule in rules if not rule.endpoint.startswith(("api.", "kaggle."))}
    decided = [*ASKS.split(), *TICKED_OR_TYPED.split(), *HARMLESS.split()]
    assert set(decided) == acts and len(decided) == len(acts)


def test_publishing_shows_its_changes_and_is_bound_to_them(
    arena, people: dict[str, Any], check: Callable[..., int]
):
    eva, path = people["Eva"], f"{ROOT}/rescoring/2/publish"
    begin(people, check())
    arena.score_all()
    asked = eva.post(path, {"notice": 'Two <lines>,\nand "quotes".'})
    assert asked.status_code == 409
    unchanged = "No team changes rank on either leaderboard; the leader stays the same on both leaderboards."
    assert unchanged in asked.text
    assert "2 of 2 submissions get a different displayed score; the largest change is 0." in asked.text
    assert ">ready<" in page(eva, f"{ROOT}/rescoring/2")
    fields = hidden_fields(asked.text)
    assert fields["notice"] == 'Two <lines>,\nand "quotes".'
    forged = eva.post(path, fields | {"confirm": "forged"})
    assert forged.status_code == 409 and "Something has changed in the meantime" in forged.text
    entered = eva.post(path, fields | {"change": "yes"})
    assert entered.status_code == 200 and "Two &lt;lines&gt;," in entered.text
    assert ">ready<" in page(eva, f"{ROOT}/rescoring/2")
    other = eva.post(path, fields | {"notice": "Other words."})
    assert other.status_code == 409  # Only the notice that was confirmed can be published.

    # This changes the leaderboards after the question was shown.
    arena.submit(people["Bob"], arena.truth.predictions(noise=0.1, seed=9))
    arena.score_all()
    again = eva.post(path, fields)
    assert again.status_code == 409 and "Something has changed in the meantime" in again.text
    assert ">ready<" in page(eva, f"{ROOT}/rescoring/2")
    done = eva.post(path, hidden_fields(again.text))
    assert done.status_code == 303, done.text
    assert "Two &lt;lines&gt;," in page(people["Ann"], "/competitions/toxicity")

    back = f"{ROOT}/rescoring/1/rollback"
    asked = eva.post(back, {"reason": "It was right."})
    assert asked.status_code == 409 and "Roll back to scoring version 1?" in asked.text
    assert (
        "preparing" not in page(eva, f"{ROOT}/rescoring/2")
        and eva.post(back, hidden_fields(asked.text)).status_code == 303
    )


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
    asked = eva.post(f"{ROOT}/rescoring/3/publish", fields)
    assert asked.status_code == 409 and ">ready<" in page(eva, f"{ROOT}/rescoring/3")


def test_publishing_a_rescoring_without_changes_states_that_nothing_changes(
    arena, people: dict[str, Any], check: Callable[..., int]
):
    begin(people, check(0))
    arena.score_all()
    asked = people["Eva"].post(f"{ROOT}/rescoring/2/publish")
    assert "Nothing changes. Every submission keeps its displayed scores" in asked.text


def test_an_unconfirmed_json_request_returns_the_required_confirmation(
    arena, people: dict[str, Any], check: Callable[..., int]
):
    begin(people, check())
    arena.score_all()
    eva, path = people["Eva"], f"{ROOT}/rescoring/2/publish"
    asked = eva.post(path, headers={"Accept": "application/json"})
    assert (asked.status_code, asked.json["code"], asked.json["error"]) == (409, 409, "unconfirmed")
    assert eva.post(path, {"confirm": asked.json["confirm"]}).status_code == 303


def test_api_clients_are_asked_the_same_questions_as_pages(
    arena, people: dict[str, Any], check: Callable[..., int]
):
    begin(people, check())
    eva, path = people["Eva"], f"{ROOT}/rescoring/2"
    client, sent = arena.app.test_client(), {"headers": eva.bearer}
    assert "Cancel the rescoring with scoring version 2?" in eva.post(f"{path}/drop").text
    for body in ({}, {"json": {"confirm": "forged"}}):
        asked = client.delete(f"/api/v1{path}", **sent, **body)
        assert (asked.status_code, asked.json["error"]) == (409, "unconfirmed")
        assert asked.json["questions"][0]["heading"] == "Cancel the rescoring with scoring version 2?"
    assert client.delete(f"/api/v1{path}", **sent, json={"agreed": "x"}).json["error"] == "unreadable"
    confirmed = {"confirm": asked.json["confirm"]}
    assert client.delete(f"/api/v1{path}", **sent, json=confirmed).status_code == 204


def test_accepting_a_merger_shows_the_effect_on_both_teams(arena, people: dict[str, Any]):
    ann, bob = people["Ann"], people["Bob"]
    team = "/competitions/toxicity/team"
    assert ann.post(f"{team}/mergers", {"name": "Bob"}).status_code == 303
    asked = bob.post(f"{team}/mergers/1/accept")
    assert asked.status_code == 409
    for words in (
        "Merge Bob into Ann?",
        "Your team Bob becomes part of Ann",
        "2 members, 2 used submissions",
        "This cannot be undone.",
    ):
        assert words in asked.text
    with arena.database.read() as session:
        assert session.get_one(MergeRequest, 1).state is RequestState.OPEN
    arena.submit(ann, arena.truth.predictions(seed=77))
    again = bob.post(f"{team}/mergers/1/accept", hidden_fields(asked.text))
    assert again.status_code == 409 and "3 used submissions" in again.text
    assert bob.post(f"{team}/mergers/1/accept", hidden_fields(again.text)).status_code == 303


def test_leaving_and_handing_over_show_the_next_leader(arena):
    arena.competition()
    ann, cay = arena.person("Ann"), arena.person("Cay")
    team = "/competitions/toxicity/team"
    assert ann.post(team, {"name": "Duo"}).status_code == 303
    assert cay.post(link_of(ann)).status_code == 303

    asked = ann.post(f"{team}/leader", {"name": "Cay"})
    assert asked.status_code == 409 and "Make Cay the leader of Duo?" in asked.text
    assert led_by(arena, ann) == "Ann"
    other = ann.post(f"{team}/leader", hidden_fields(asked.text) | {"name": "Ann"})
    # The confirmation named Cay.
    assert other.status_code == 409 and "Make Ann the leader of Duo?" in other.text
    assert ann.post(f"{team}/leader", hidden_fields(asked.text)).status_code == 303
    assert led_by(arena, ann) == "Cay"

    asked = cay.post(f"{team}/leave")
    assert asked.status_code == 409 and "Duo continues without you, led by Ann." in asked.text
    assert led_by(arena, ann) == "Cay"
    assert cay.post(f"{team}/leave", hidden_fields(asked.text)).status_code == 303
    assert led_by(arena, ann) == "Ann"
    asked = ann.post(f"{team}/leave")
    assert "Duo will be deleted" in asked.text
    assert ann.post(f"{team}/leave", hidden_fields(asked.text)).status_code == 303
    assert "You have no team yet." in page(ann, team)


def led_by(arena, member) -> str:
    """Return the name of the leader of a user's team."""
    with arena.database.read() as session:
        competition = lookup.get(session, slug="toxicity")
        team = rosters.require_team(session, competition=competition, user=member.user)
        return str(team.leader.name)


@pytest.mark.parametrize("who", ["Vic", "Eva"])
def test_removing_a_role_requires_confirmation(arena, people: dict[str, Any], who: str):
    with arena.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        eva = session.get_one(User, people["Eva"].user.id)
        act = acting.begin(session, competition=competition, actor=Actor(None, "tests"))
        organizers.change(act, user=eva, role=Role.OWNER)
        organizers.add(act, user=session.get_one(User, people["Ann"].user.id), role=Role.OWNER)
    asked = people["Eva"].post(f"{ROOT}/organizers/{people[who].user.id}/remove")
    assert asked.status_code == 409 and "Remove organizer" in asked.text
    with arena.database.read() as session:
        user = session.get_one(User, people[who].user.id)
        assert organizers.role_of(session, competition=lookup.get(session, slug="toxicity"), user=user)
    demoted = people["Eva"].post(f"{ROOT}/organizers/{people['Eva'].user.id}/change", {"role": "viewer"})
    assert demoted.status_code == 409 and "Change your role to viewer?" in demoted.text


def test_revoking_a_token_requires_confirmation(arena, people: dict[str, Any]):
    ann = people["Ann"]
    with arena.database.write() as session:
        user = session.get_one(User, ann.user.id)
        number = api_tokens.create(session, user=user, name="laptop", now=arena.now())[0].id
    path = f"/tokens/{number}/revoke-token"
    asked = ann.post(path)
    assert asked.status_code == 409 and "Revoke the token laptop?" in asked.text
    with arena.database.read() as session:
        assert session.get_one(ApiToken, number).revoked_at is None
    assert ann.post(path, hidden_fields(asked.text)).status_code in (302, 303)
    with arena.database.read() as session:
        assert session.get_one(ApiToken, number).revoked_at is not None


def test_a_date_in_the_past_is_reported_next_to_its_field(arena, people: dict[str, Any]):
    eva, path = people["Eva"], f"{ROOT}/settings"
    now = arena.now()
    yesterday = now - timedelta(days=1)
    with arena.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        competition.opens_at = now - timedelta(days=9)
    form = {
        "version": re.findall(r'name="version" value="(\w+)"', page(eva, path))[0],
        "closes_at_date": f"{now + timedelta(days=30):%Y-%m-%d}",
        "entry_deadline_date": f"{yesterday:%Y-%m-%d}",
        "entry_deadline_time": "00:00",
        "merger_deadline_date": f"{now + timedelta(days=3):%Y-%m-%d}",
        "reveal_rule": "organizer",
    }
    asked = eva.post(f"{path}/save", form)
    assert asked.status_code == 409 and "no one can join any longer" in asked.text
    with arena.database.read() as session:
        assert lookup.get(session, slug="toxicity").entry_deadline is None
    assert eva.confirm(f"{path}/save", form).status_code == 303
    shown = page(eva, path)
    assert re.search(
        r'<small id="entry_deadline-help" class="caution">The entry deadline is in the past '
        r"[^<]*: no one can join any longer\.</small>",
        shown,
    )


def test_a_close_within_minutes_requires_confirmation(arena, people: dict[str, Any]):
    eva, path, soon = people["Eva"], f"{ROOT}/settings/save", arena.now() + timedelta(minutes=9)
    form = {
        "version": re.findall(r'name="version" value="(\w+)"', page(eva, f"{ROOT}/settings"))[0],
        "closes_at_date": f"{soon:%Y-%m-%d}",
        "closes_at_time": f"{soon:%H:%M}",
        "reveal_rule": "organizer",
    }
    asked = eva.post(path, form)
    assert asked.status_code == 409, asked.text
    assert re.search(r"close is less than a day away .*: no more submissions are accepted", asked.text)
    assert "It is now " in asked.text
    assert f'value="{soon:%H:%M}"' in eva.post(path, form | {"change": "yes"}).text
    client, api = arena.app.test_client(), f"/api/v1{ROOT}/settings"
    sent = {"closes_at": soon.isoformat()}
    refused = client.patch(api, json=sent, headers=eva.bearer)
    assert (refused.status_code, refused.json["error"]) == (409, "unconfirmed")
    (question,) = refused.json["questions"]
    assert "close is less than a day away" in question["sentences"][0] and question["is_final"] is False
    assert [each["fields"] for each in refused.json["problems"]] == [["closes_at"]]
    with arena.database.read() as session:
        assert lookup.get(session, slug="toxicity").closes_at is None
    later = (arena.now() + timedelta(days=3)).isoformat()
    assert client.patch(api, json={"closes_at": later}, headers=eva.bearer).status_code == 200
    assert (
        client.patch(api, json=sent | {"confirm": refused.json["confirm"]}, headers=eva.bearer).status_code
        == 200
    )
