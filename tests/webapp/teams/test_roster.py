"""Rosters, imported on the page or over the API."""

import re

import pytest

from grader.models import Role
from grader.services.identity import roster_file
from tests.fixtures.desk import API, Desk

DESK = f"{API}/competitions/toxicity/organize"
PAGE = "/competitions/toxicity/organize/roster"


@pytest.fixture
def olga(arena) -> Desk:
    """Olga, who owns a competition."""
    arena.competition()
    olga = Desk(arena.person("Olga"))
    arena.give_role(olga.person, Role.OWNER)
    return olga


def test_a_new_student_signs_up_and_returns_to_the_invitation(olga: Desk):
    answer = olga("POST", f"{DESK}/students", json={"students": ["Fay", " Gus ", ""]}, expect=201)
    made = answer.json["invitations"]
    assert [each["student"] for each in made] == ["Fay", "Gus"]
    path = "/class/" + made[0]["url"].rpartition("/")[2]
    browser = olga.arena.app.test_client()
    (sign_up,) = re.findall(r'href="(/sign-up/[^"]+)"', browser.get(path).text)
    token = olga.arena.form_token(browser, sign_up)
    form = {"csrf_token": token, "name": "Fay", "password": "correct horse battery"}
    assert browser.post(sign_up, data=form).location == path
    joined = browser.post(path, data={"csrf_token": olga.arena.form_token(browser, path)})
    assert joined.location == "/competitions/toxicity/join"
    assert browser.get(path).status_code == 404


def test_all_problems_are_reported(olga: Desk):
    names = ["Fay", "fay", "Admin", "x" * 200]
    refused = olga("POST", f"{DESK}/students", json={"students": names}, expect=422).json
    assert refused["error"] == "invalid_class"
    assert [each["message"].partition(":")[0] for each in refused["problems"]] == names[1:]
    olga("POST", f"{DESK}/students", json={"students": ["n"] * (roster_file.MOST + 1)}, expect=422)
    olga("POST", f"{DESK}/students", json={"students": [" "]}, expect=422)


def test_the_page_shows_the_secrets_once_and_keeps_the_entered_values(olga: Desk):
    refused = olga.person.post(f"{PAGE}/students", {"students": "Fay\nAdmin"})
    assert (refused.status_code, ">Fay\nAdmin</textarea>" in refused.text.replace("\r", "")) == (422, True)
    made = olga.person.post(f"{PAGE}/students", {"students": "Fay\nGus"})
    assert (made.status_code, len(re.findall(r"/class/[\w-]+", made.text))) == (201, 2)
    assert "/class/" not in olga.person.browser.get(PAGE).text
    eva = olga.arena.person("Eva")
    assert eva.post(f"{PAGE}/students", {"students": "Zoe"}).status_code == 403
