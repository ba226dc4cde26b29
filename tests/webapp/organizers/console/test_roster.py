"""Rosters, imported on the page, over the API or in the shell."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import func, select

from grader.cli import main
from grader.models import AuditEntry, Role, User
from grader.services.accounts import class_rosters, roster_file
from grader.services.audit.log import Actor
from grader.services.competitions import lookup, organizers
from tests.fixtures.desk import API, Desk

HERE = f"{API}/competitions/toxicity"
DESK = f"{HERE}/organize"
PAGE = "/competitions/toxicity/organize/roster"


@pytest.fixture
def olga(arena) -> Desk:
    """Olga, who owns one of two competitions."""
    arena.competition()
    arena.competition("second")
    olga = Desk(arena.person("Olga"))
    arena.give_role(olga.person, Role.OWNER)
    return olga


def count(arena) -> int:
    with arena.database.read() as session:
        return session.scalar(select(func.count(User.id))) or 0


def test_each_link_sets_a_password_once(olga: Desk):
    answer = olga("POST", f"{DESK}/accounts", json={"names": ["Fay", " Gus ", ""]}, expect=201)
    made = answer.json["accounts"]
    assert [(each["name"], each["token"]) for each in made] == [("Fay", None), ("Gus", None)]
    path = "/reset/" + made[0]["url"].rpartition("/")[2]
    browser = olga.arena.app.test_client()
    form = {"csrf_token": olga.arena.form_token(browser, path), "password": "correct horse battery"}
    assert browser.post(path, data=form).status_code == 302
    assert olga.arena.log_in(browser, "Fay").status_code == 302
    assert browser.get(path).status_code == 404
    with olga.arena.database.read() as session:
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "accounts.create")).one()
    assert (entry.subject, len(entry.after["accounts"])) == ("2 accounts", 2)


def test_each_token_is_limited_to_this_competition(olga: Desk):
    sent = {"names": ["Fay"], "with_tokens": True}
    (made,) = olga("POST", f"{DESK}/accounts", json=sent, expect=201).json["accounts"]
    client, bearer = olga.arena.app.test_client(), {"Authorization": f"Bearer {made['token']}"}
    file = {"data": olga.arena.truth.predictions(), "content_type": "text/csv", "headers": bearer}
    assert client.post(f"{HERE}/submissions", **file).status_code == 201
    other = client.get(f"{API}/competitions/second/team", headers=bearer)
    assert (made["url"], other.json["error"]) == (None, "other_competition")
    assert client.get(DESK, headers=bearer).status_code == 403


def test_all_problems_are_reported_and_no_account_is_created(olga: Desk):
    before = count(olga.arena)
    names = ["Fay", "fay", "Admin", "x" * 200]
    refused = olga("POST", f"{DESK}/accounts", json={"names": names}, expect=422).json
    assert refused["error"] == "invalid_class"
    assert [each["message"].partition(":")[0] for each in refused["problems"]] == names[1:]
    olga("POST", f"{DESK}/accounts", json={"names": ["n"] * (roster_file.MOST + 1)}, expect=422)
    olga("POST", f"{DESK}/accounts", json={"names": [" "]}, expect=422)
    assert count(olga.arena) == before


def test_the_number_of_lists_per_competition_and_day_is_limited(olga: Desk):
    for number in range(class_rosters.CLASSES[0].count):
        olga("POST", f"{DESK}/accounts", json={"names": [f"Student {number}"]}, expect=201)
    refused = olga("POST", f"{DESK}/accounts", json={"names": ["Late"]}, expect=429)
    assert (refused.json["error"], int(refused.headers["Retry-After"]) > 3600) == ("too_many_classes", True)


def test_the_number_of_lists_per_user_and_day_is_limited(olga: Desk):
    with olga.arena.database.write() as session:
        given = {"role": Role.OWNER, "actor": Actor(None, "tests"), "now": olga.arena.now()}
        second = lookup.get(session, slug="second")
        organizers.add(session, competition=second, user=olga.person.user, **given)
    for number in range(class_rosters.CLASSES[0].count):
        slug = ("toxicity", "second")[number % 2]
        path = f"{API}/competitions/{slug}/organize/accounts"
        olga("POST", path, json={"names": [f"Student {number}"]}, expect=201)
    olga("POST", f"{DESK}/accounts", json={"names": ["Late"]}, expect=429)


def test_the_page_shows_the_secrets_once_and_keeps_the_entered_values(olga: Desk):
    refused = olga.person.post(f"{PAGE}/accounts", {"names": "Fay\nAdmin"})
    assert (refused.status_code, ">Fay\nAdmin</textarea>" in refused.text.replace("\r", "")) == (422, True)
    made = olga.person.post(f"{PAGE}/accounts", {"names": "Fay\nGus"})
    assert (made.status_code, len(re.findall(r"/reset/[\w-]+", made.text))) == (201, 2)
    assert "/reset/" not in olga.person.browser.get(PAGE).text
    eva = olga.arena.person("Eva")
    assert eva.post(f"{PAGE}/accounts", {"names": "Zoe"}).status_code == 403


def test_the_shell_prints_the_names_with_their_links(
    make_arena, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    arena = make_arena()
    arena.competition()
    monkeypatch.setenv("FAIRBOARD_DATA_DIR", str(arena.settings.data_dir))
    (tmp_path / "names.txt").write_text("Fay\nGus\n")
    command = ["competition", "accounts", "toxicity", str(tmp_path / "names.txt")]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == "name,student id,section,account,link"
    assert re.fullmatch(r"Fay,,,Fay,http://\S+/reset/\S+", lines[1])
    assert len(lines) == 3
