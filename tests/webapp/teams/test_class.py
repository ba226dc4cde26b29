"""Classes: imported rosters, invitations, divisions, grades."""

import csv
import io
import re

from sqlalchemy import select

from grader.models import Role, Standing, Team
from tests.fixtures.desk import API, Desk

DESK = f"{API}/competitions/toxicity/organize"
PAGE = "/competitions/toxicity/organize/roster"
STUDENTS = 300
SECTIONS = ("North", "East", "South", "West")


def roster():
    rows = [
        f"{number:05d};Student {number};s{number}@example.org;{SECTIONS[number % 4]}"
        for number in range(STUDENTS)
    ]
    return "\r\n".join(["Student ID;Name;E-mail;Section;Phone", *(f"{row};1" for row in rows)])


def grades(desk, query=""):
    text = desk("GET", f"{DESK}/exports/grades.csv{query}").text
    return list(csv.DictReader(io.StringIO(text)))


def test_a_class_with_divisions_and_grades(olga):
    arena, truth = olga.arena, olga.arena.truth
    sent = {"file": (io.BytesIO(roster().encode("utf-16")), "roster.csv"), "sections": "divisions"}
    page = olga.person.confirm(f"{PAGE}/students", sent)
    assert page.status_code == 201, page.text
    assert "Added (300): " in page.text
    assert "Ignored columns: &#39;Phone&#39;." in page.text
    lines = csv.DictReader(io.StringIO(page.text.partition("<code>")[2].partition("</code>")[0]))
    links = {line["student id"]: line["link"] for line in lines}
    assert len(set(links.values())) == STUDENTS
    active = [f"{number:05d}" for number in range(0, STUDENTS, 25)]
    for place, student in enumerate(active):
        person = arena.person(f"Student {int(student)}")
        assert person.post(f"/class/{links[student].rpartition('/')[2]}").status_code == 303
        assert person.post("/competitions/toxicity/join").status_code == 303
        file = truth.predictions(noise=0.2 + 0.4 * place, seed=place)
        arena.submit(person, file)
    olga.work()
    check(olga, active, "public")
    with arena.database.read() as session:
        divisions = dict(session.execute(select(Team.name, Team.division).where(~Team.is_organizers)).all())
    assert divisions == {f"Student {int(each)}": SECTIONS[int(each) % 4] for each in active}
    arena.reveal()
    check(olga, active, "private")


def check(olga, active, split):
    """Compare the grades with ranks that are derived from the stored scores."""
    with olga.arena.database.read() as session:
        query = select(Team.name, Standing.score_units, Standing.submitted_at)
        query = query.join(Standing, Standing.team_id == Team.id).where(Standing.split == split)
        teams = sorted(session.execute(query).all(), key=lambda row: (-row[1], row[2]))
    order = [name for name, *_ in teams]
    found = grades(olga)
    assert len(found) == STUDENTS
    for row in found:
        assert (row["split"], row["team_count"]) == (split, str(len(active)))
        if row["Student ID"] not in active:
            assert (row["rank"], row["score"], row["percentile"], row["submitted_at"]) == ("", "", "", "")
            continue
        place = order.index(row["team_name"])
        assert int(row["rank"]) == place + 1
        assert float(row["percentile"]) == round(100 * (len(order) - place) / len(order), 1)


def test_only_owners_and_editors_see_students_and_grades(olga):
    olga("POST", f"{DESK}/students", json={"students": ["name,e-mail", "=Eve,eve@example.org"]}, expect=201)
    for role, status in ((Role.VIEWER, 403), (Role.EDITOR, 200)):
        viewer = Desk(olga.arena.person(f"A {role}"))
        olga.arena.give_role(viewer.person, role)
        assert viewer("GET", f"{DESK}/exports/grades.csv", expect=status)
        page = viewer.person.browser.get(PAGE)
        assert (page.status_code, "eve@example.org" in page.text) == (status, status == 200)
        desk = "/competitions/toxicity/organize"
        shown = "".join(viewer.person.browser.get(f"{desk}{path}").text for path in ("", "/teams"))
        assert (PAGE in shown, "grades.csv" in shown) == (status == 200,) * 2
    stranger = olga.arena.person("Sue").browser.get("/competitions/toxicity/leaderboard")
    assert "example.org" not in stranger.text


def test_a_new_student_signs_up_and_returns_to_the_invitation(olga):
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


def test_the_page_shows_a_preview_first_and_the_secrets_once(olga):
    refused = olga.person.post(f"{PAGE}/students", {"students": "Fay\nAdmin"})
    assert (refused.status_code, "Admin: The name" in refused.text, ">Import<" in refused.text) == (
        409, True, False
    )  # fmt: skip
    assert "\nFay\nAdmin</textarea>" in refused.text.replace("\r", "")
    preview = olga.person.post(f"{PAGE}/students", {"students": "Talaba\nFay\nGus"}).text
    assert "Import 3 students?" in preview and "is the name" in preview
    sent = {"students": "Talaba\nFay\nGus", "columns": "name", "has_headings": "yes"}
    made = olga.person.confirm(f"{PAGE}/students", sent)
    assert (made.status_code, len(re.findall(r"/class/[\w-]+", made.text))) == (201, 2)
    assert "/class/" not in olga.person.browser.get(PAGE).text
    assert olga.person.confirm(f"{PAGE}/students", {"students": "Hal\nIda"}).status_code == 201
    eva = olga.arena.person("Eva")
    assert eva.post(f"{PAGE}/students", {"students": "Zoe"}).status_code == 403


def test_nothing_is_imported_if_the_confirmed_roster_has_changed(olga):
    lines = ["name,e-mail", "Fay,fay@example.org"]
    asked = olga("POST", f"{DESK}/students", json={"students": lines}, expect=409).json
    (question,) = asked["questions"]
    assert question["sentences"][0] == "Columns: 'name' is the name, 'e-mail' is the e-mail."
    changed = {"students": [*lines, "Gus,gus@example.org"], "confirm": asked["confirm"]}
    olga("POST", f"{DESK}/students", json=changed, expect=409)
    assert grades(olga) == []


def test_the_owner_prints_all_certificates_and_everyone_sees_each_after_the_reveal(olga):
    arena, here = olga.arena, "/competitions/toxicity"
    for name, noise in (("<b>Ann</b>", 1), ("Bob", 3)):
        arena.submit(arena.person(name), arena.truth.predictions(noise=noise))
    olga.work()
    with arena.database.read() as session:
        team_id = session.scalar(select(Team.id).where(Team.name == "<b>Ann</b>"))
    own, page = f"{here}/teams/{team_id}/certificate", f"{here}/organize/teams/certificates"
    visitor = arena.app.test_client()
    assert olga.person.browser.get(page).status_code == visitor.get(own).status_code == 403
    arena.reveal()
    text = olga.person.browser.get(page).text
    assert text.count('<article class="certificate') == 2
    assert text.index("<bdi>&lt;b&gt;Ann&lt;/b&gt;</bdi>") < text.index("<bdi>Bob</bdi>")
    assert arena.person("Eva").browser.get(page).status_code == 403
    text = visitor.get(own).text
    assert '<p class="place">1st <small>of 2 teams</small></p>' in text
    assert "<bdi>&lt;b&gt;Ann&lt;/b&gt;</bdi>" in text and f"{here}/leaderboard/private" in text
