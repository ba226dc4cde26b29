"""Request context: user, role and action in one transaction."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from grader.models import AnnouncedUpload, DataFile, Figure, OrganizerJob, Role, Submission, Team
from grader.services.competitions import acting, lookup, organizers
from grader.services.identity import api_tokens, logins, names
from grader.services.site.log import Actor
from tests.fixtures.statements import recorded
from tests.services.competitions.test_pictures import png

HERE = "/competitions/toxicity"
API = "/api/v1/competitions/toxicity"


@pytest.fixture
def before_writing(arena, monkeypatch):
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


def add_edda(session, now):
    competition = lookup.get(session, slug="toxicity")
    user = names.get_user(session, name="Edda")
    act = acting.begin(session, competition=competition, actor=Actor.shell(), now=now)
    organizers.add(act, user=user, role=Role.EDITOR)


def remove_edda(session):
    competition = lookup.get(session, slug="toxicity")
    user = names.get_user(session, name="Edda")
    organizers.remove(acting.begin(session, competition=competition, actor=Actor.shell()), user=user)


def state_of(arena):
    """Return what the tested actions would change."""
    tables = (AnnouncedUpload, DataFile, Figure, OrganizerJob, Submission)
    with arena.database.read() as session:
        counts = [session.scalar(select(func.count()).select_from(table)) for table in tables]
        names = session.scalars(select(Team.name)).all()
        return lookup.get(session, slug="toxicity").paused_at, names, counts


def by_page(arena, person, path, sent, method):
    form = {"csrf_token": arena.form_token(person.browser, "/account"), **sent}
    return person.browser.post(f"{HERE}{path}", data=form)


def by_api(arena, person, path, sent, method):
    given = "data" if "file" in sent else "json"
    client = arena.app.test_client()
    return client.open(f"{API}{path}", method=method, headers=person.bearer, **{given: sent})


BOTH_WAYS = pytest.mark.parametrize("send", [by_page, by_api])


@BOTH_WAYS
@pytest.mark.parametrize(
    ("path", "sent", "method"),
    [
        ("/organize/pause", {"message": "A break."}, "POST"),
        ("/organize/teams/1/name", {"name": "Kings", "reason": "Rude"}, "PUT"),
    ],
)
def test_an_organizer_removed_during_the_request_changes_nothing(
    arena, organizer, before_writing, send, path, sent, method
):
    before = state_of(arena)
    before_writing(remove_edda)
    assert send(arena, organizer, path, sent, method).status_code == 403
    assert state_of(arena) == before
    with arena.database.write() as session:
        add_edda(session, arena.now())
    assert send(arena, organizer, path, sent, method).status_code in (200, 303)
    assert state_of(arena) != before


def transactions(sent):
    return [line for line in sent.lines if line in ("read", "write")]


def test_an_action_identifies_the_user_and_writes_once_and_its_page_reads_once(arena, organizer):
    bea = arena.person("Bea")
    assert bea.post(f"{HERE}/team", {"name": "Bees"}).status_code == 303
    token = arena.form_token(bea.browser, "/account")
    with recorded(arena.database) as sent:
        form = {"csrf_token": token, "name": "Wasps"}
        assert bea.browser.post(f"{HERE}/team/name", data=form).status_code == 303
        assert transactions(sent) == ["read", "write"]
        assert "Wasps" in bea.browser.get(f"{HERE}/team").text
    assert transactions(sent) == ["read", "write", "read"]


def test_a_user_logged_out_during_a_request_changes_nothing(arena, organizer, before_writing):
    before = state_of(arena)
    before_writing(lambda session: logins.end_all(session, user=organizer.user))
    answer = by_page(arena, organizer, "/organize/pause", {"message": "A break."}, "POST")
    assert (answer.status_code, state_of(arena)) == (302, before)


@BOTH_WAYS
@pytest.mark.parametrize("path", ["data", "figures", "solution", "data/baseline"])
def test_no_file_of_an_organizer_removed_during_the_request_is_stored(
    arena, organizer, before_writing, send, path
):
    before = state_of(arena)
    before_writing(remove_edda)
    sent = {"name": "Baseline", "file": file_for(arena, path)}
    answer = send(arena, organizer, f"/organize/{path}", sent, "POST")
    assert (answer.status_code, state_of(arena)) == (403, before), answer.text


def file_for(arena, path):
    if path == "figures":
        return BytesIO(png(1, 1)), "picture.png"
    content = arena.truth.solution() if path == "solution" else arena.truth.predictions(seed=1)
    return BytesIO(content), "file.csv"


def announce_by_kaggle(arena, person, *_):
    path = "/api/v1/competitions.CompetitionApiService/StartSubmissionUpload"
    sent = {"competitionName": "toxicity", "fileName": "file.csv", "contentLength": 10}
    return arena.app.test_client().post(path, json=sent, headers=person.bearer)


@pytest.mark.parametrize(
    ("send", "path", "status"),
    [(by_page, "/submit", 302), (by_api, "/submissions", 401), (announce_by_kaggle, "", 401)],
)
def test_a_file_of_a_user_logged_out_during_the_upload_is_not_stored(
    arena, organizer, before_writing, send, path, status
):
    bea, before = arena.person("Bea"), state_of(arena)

    def log_out(session):
        logins.end_all(session, user=bea.user)
        api_tokens.forget_all(session, user=bea.user)

    before_writing(log_out)
    answer = send(arena, bea, path, {"file": file_for(arena, "submit")}, "POST")
    assert (answer.status_code, state_of(arena)) == (status, before)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
@pytest.mark.parametrize(
    ("failing", "sentence", "logged"),
    [
        ("SELECT pg_terminate_backend(pg_backend_pid())", "is not responding", "is not responding"),
        ("SELECT pg_sleep(60)", "is overloaded", "30 seconds"),
    ],
)
def test_a_read_with_a_lost_connection_or_an_exceeded_limit_returns_503(
    failing, sentence, logged, arena, monkeypatch, caplog
):
    find = organizers.competition_and_membership

    def lose(session, **given):
        session.execute(text("SET LOCAL statement_timeout = 100"))
        session.execute(text(failing))
        return find(session, **given)

    arena.competition()
    ann = arena.person("Ann")
    monkeypatch.setattr(organizers, "competition_and_membership", lose)
    answer = arena.app.test_client().get(API, headers=ann.bearer)
    assert (answer.status_code, answer.json["error"]) == (503, "database_unavailable")
    assert sentence in answer.json["message"] and int(answer.headers["Retry-After"]) == 5
    assert logged in caplog.text


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_connection_lost_after_the_last_read_does_not_matter(arena, monkeypatch):
    close = Session.close

    def lose(session):
        if session.in_transaction():
            session.execute(text("SET LOCAL idle_in_transaction_session_timeout = 1"))
            time.sleep(0.1)
        close(session)

    arena.competition()
    ann = arena.person("Ann")
    monkeypatch.setattr(Session, "close", lose)
    for path, status in ((HERE, 200), (f"{HERE}/nothing", 404)):
        assert ann.browser.get(path).status_code == status
    assert arena.database.engine.pool.checkedout() == 0
