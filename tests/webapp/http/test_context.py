"""Request context: user, role and action in one transaction."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from io import BytesIO
from typing import Any

import pytest
from sqlalchemy import func, select, text

from grader.models import AnnouncedUpload, DataFile, Figure, OrganizerJob, Role, Submission, Team
from grader.services.competitions import acting, lookup, organizers
from grader.services.identity import api_tokens, logins, names
from grader.services.site.log import Actor
from tests.fixtures.statements import recorded
from tests.services.competitions.test_pictures import png

HERE = "/competitions/toxicity"
API = "/api/v1/competitions/toxicity"


@pytest.fixture
def before_writing(arena, monkeypatch: pytest.MonkeyPatch):
    """Run a function just before the next request opens its write transaction."""

    def prepare(happens):
        write, waiting = arena.database.write, [happens]

        @contextmanager
        def delayed() -> Iterator[Any]:
            while waiting:
                with write() as session:
                    waiting.pop()(session)
            with write() as session:
                yield session

        monkeypatch.setattr(arena.database, "write", delayed)

    return prepare


@pytest.fixture
def organizer(arena):
    """Edda, who may edit the competition in which Ann has the team “Aces”."""
    arena.competition()
    edda, ann = arena.person("Edda"), arena.person("Ann")
    with arena.database.write() as session:
        add_edda(session, arena.now())
    assert ann.post(f"{HERE}/team", {"name": "Aces"}).status_code == 303
    return edda


def add_edda(session, now: datetime):
    competition = lookup.get(session, slug="toxicity")
    user = names.get_user(session, name="Edda")
    act = acting.begin(session, competition=competition, actor=Actor.shell(), now=now)
    organizers.add(act, user=user, role=Role.EDITOR)


def remove_edda(session):
    competition = lookup.get(session, slug="toxicity")
    user = names.get_user(session, name="Edda")
    organizers.remove(acting.begin(session, competition=competition, actor=Actor.shell()), user=user)


def paused(arena) -> bool:
    with arena.database.read() as session:
        return lookup.get(session, slug="toxicity").paused_at is not None


def test_an_organizer_removed_after_opening_the_page_changes_nothing(arena, organizer, before_writing):
    path = f"{HERE}/organize/pause"
    assert organizer.browser.get(f"{HERE}/organize").status_code == 200
    token = arena.form_token(organizer.browser, f"{HERE}/organize")
    before_writing(remove_edda)
    answer = organizer.browser.post(path, data={"csrf_token": token, "message": "A break."})
    assert (answer.status_code, paused(arena)) == (403, False)


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        (f"{API}/organize/pause", {"message": "A break."}),
    ],
)
def test_an_organizer_removed_before_the_api_write_changes_nothing(
    arena, organizer, before_writing, path: str, sent: dict[str, Any]
):
    client = arena.app.test_client()
    assert client.get(f"{API}/organize", headers=organizer.bearer).status_code == 200
    before_writing(remove_edda)
    answer = client.post(path, json=sent, headers=organizer.bearer)
    assert (answer.status_code, answer.json["error"], paused(arena)) == (403, "not_organizer", False)


def test_an_action_checks_the_role_in_its_own_transaction(arena, organizer, before_writing):
    token = arena.form_token(organizer.browser, f"{HERE}/organize")
    with arena.database.read() as session:
        team = session.scalar(select(Team.id).where(Team.name == "Aces"))
    path = f"/organize/teams/{team}/name"
    before_writing(remove_edda)
    sent = {"name": "Kings", "reason": "Rude"}
    answer = organizer.browser.post(HERE + path, data={"csrf_token": token, **sent})
    assert (answer.status_code, team_name(arena, team)) == (403, "Aces")
    with arena.database.write() as session:
        add_edda(session, arena.now())
    before_writing(remove_edda)
    answer = arena.app.test_client().put(API + path, json=sent, headers=organizer.bearer)
    assert (answer.status_code, answer.json["error"]) == (403, "not_organizer")
    assert team_name(arena, team) == "Aces"


def team_name(arena, team_id: int) -> str:
    with arena.database.read() as session:
        return str(session.get(Team, team_id).name)


def transactions(sent) -> list[str]:
    return [line for line in sent.lines if line in ("read", "write")]


def test_renaming_a_team_uses_one_transaction_and_its_page_another(arena, organizer):
    bea = arena.person("Bea")
    assert bea.post(f"{HERE}/team", {"name": "Bees"}).status_code == 303
    token = arena.form_token(bea.browser, "/account")
    with recorded(arena.database) as sent:
        form = {"csrf_token": token, "name": "Wasps"}
        assert bea.browser.post(f"{HERE}/team/name", data=form).status_code == 303
        assert transactions(sent) == ["write"]
        assert "Wasps" in bea.browser.get(f"{HERE}/team").text
    assert transactions(sent) == ["write", "read"]


def test_renaming_a_team_through_the_api_uses_two_transactions(arena, organizer):
    bea, client = arena.person("Bea"), arena.app.test_client()
    for path, name in ((f"{API}/team", "Bees"), (f"{API}/team/name", "Wasps")):
        with recorded(arena.database) as sent:
            answer = client.post(path, json={"name": name}, headers=bea.bearer)
        assert answer.json["team"]["name"] == name
    assert transactions(sent) == ["read", "write"]


def test_a_user_logged_out_during_a_request_changes_nothing(arena, organizer, before_writing):
    path = f"{HERE}/organize/pause"
    token = arena.form_token(organizer.browser, f"{HERE}/organize")
    before_writing(lambda session: logins.end_all(session, user=organizer.user))
    answer = organizer.browser.post(path, data={"csrf_token": token, "message": "A break."})
    assert (answer.status_code, paused(arena)) == (302, False)


def row_counts(arena) -> list[int]:
    tables = (AnnouncedUpload, DataFile, Figure, OrganizerJob, Submission)
    with arena.database.read() as session:
        return [session.scalar(select(func.count()).select_from(table)) for table in tables]


ORGANIZERS_UPLOADS = ("data", "figures", "solution", "data/baseline")


@pytest.mark.parametrize("path", ORGANIZERS_UPLOADS)
def test_a_page_stores_no_file_of_an_organizer_removed_during_the_request(
    arena, organizer, before_writing, path: str
):
    token, before = arena.form_token(organizer.browser, f"{HERE}/organize"), row_counts(arena)
    before_writing(remove_edda)
    form = {
        "csrf_token": token,
        "name": "Baseline",
        "figure" if "figures" in path else "file": file_for(arena, path),
    }
    answer = organizer.browser.post(f"{HERE}/organize/{path}", data=form)
    assert (answer.status_code, row_counts(arena)) == (403, before), answer.text


@pytest.mark.parametrize("path", ORGANIZERS_UPLOADS)
def test_the_api_stores_no_file_of_an_organizer_removed_during_the_request(
    arena, organizer, before_writing, path: str
):
    client, before = arena.app.test_client(), row_counts(arena)
    assert client.get(f"{API}/organize", headers=organizer.bearer).status_code == 200
    before_writing(remove_edda)
    form = {"file": file_for(arena, path), "name": "Baseline"}
    answer = client.post(f"{API}/organize/{path}", data=form, headers=organizer.bearer)
    assert (answer.status_code, answer.json["error"]) == (403, "not_organizer"), answer.text
    assert row_counts(arena) == before


def file_for(arena, path: str) -> tuple[BytesIO, str]:
    if "figures" in path:
        return BytesIO(png(1, 1)), "picture.png"
    content = arena.truth.solution() if path == "solution" else arena.truth.predictions(seed=1)
    return BytesIO(content), "file.csv"


def upload_by_page(arena, person):
    form = {"csrf_token": arena.form_token(person.browser, "/account"), "file": file_for(arena, "submit")}
    return person.browser.post(f"{HERE}/submit", data=form)


def upload_by_api(arena, person):
    form = {"file": file_for(arena, "submit")}
    return arena.app.test_client().post(f"{API}/submissions", data=form, headers=person.bearer)


def announce_by_kaggle(arena, person):
    path = "/api/v1/competitions.CompetitionApiService/StartSubmissionUpload"
    sent = {"competitionName": "toxicity", "fileName": "file.csv", "contentLength": 10}
    return arena.app.test_client().post(path, json=sent, headers=person.bearer)


@pytest.mark.parametrize("upload", [upload_by_page, upload_by_api, announce_by_kaggle])
def test_a_file_of_a_user_logged_out_during_the_upload_is_not_stored(
    arena, organizer, before_writing, upload
):
    bea = arena.person("Bea")
    assert bea.browser.get("/account").status_code == 200
    assert arena.app.test_client().get(f"{API}/submissions", headers=bea.bearer).status_code == 200
    before = row_counts(arena)

    def log_out(session):
        logins.end_all(session, user=bea.user)
        api_tokens.forget_all(session, user=bea.user)

    before_writing(log_out)
    assert (upload(arena, bea).status_code, row_counts(arena)) == (401, before)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
@pytest.mark.parametrize(
    ("failing", "sentence", "logged"),
    [
        ("SELECT pg_terminate_backend(pg_backend_pid())", "is not responding", "is not responding"),
        ("SELECT pg_sleep(60)", "is overloaded", "FAIRBOARD_DATABASE_TIMEOUT_SECONDS"),
    ],
)
def test_a_read_with_a_lost_connection_or_an_exceeded_limit_returns_503(
    failing: str,
    sentence: str,
    logged: str,
    arena,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
):
    find = organizers.competition_and_role

    def lose(session, **given):
        session.execute(text("SET LOCAL statement_timeout = 100"))
        session.execute(text(failing))
        return find(session, **given)

    arena.competition()
    ann = arena.person("Ann")
    monkeypatch.setattr(organizers, "competition_and_role", lose)
    answer = arena.app.test_client().get(API, headers=ann.bearer)
    assert (answer.status_code, answer.json["error"]) == (503, "database_unavailable")
    assert sentence in answer.json["message"] and int(answer.headers["Retry-After"]) == 5
    assert logged in caplog.text
