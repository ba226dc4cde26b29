"""Complete lists of SQL statements per request, so that any new statement fails a test."""

from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import pytest

from grader.services.leaderboards import snapshots
from tests.fixtures.statements import Statements, expected, recorded
from webapp.server.requests import CHECKED, HEAD, Head

pytestmark = pytest.mark.both_databases

HERE = "/competitions/toxicity"
API = "/api/v1/competitions/toxicity"

REQUESTS = "select team_member, team, merge_request, user_account, competition, participation, organizer\n"
UPLOAD_BY_API = """
read
    select api_token, user_account, competition
read
    select competition, organizer, scoring_version, solution
read
    select competition, organizer, participation, team_member, team, scoring_version, solution
    select submission, submission_grant
    select submission
write
    select api_token, user_account, competition
    select pg_advisory_xact_lock_shared
    lock competition
    select competition, organizer, participation, team_member, team, scoring_version, solution
    select submission, submission_grant
    select submission
    insert submission
    insert scoring_job, scoring_version
"""
HEADERS = """
read
    select api_token, user_account, competition
read
    select competition, organizer, scoring_version, solution
"""
UPLOAD_BY_PAGE = """
read
    select login, user_account
read
    select competition, organizer, scoring_version, solution
read
    select competition, organizer, participation, team_member, team, scoring_version, solution
    select submission, submission_grant
    select submission
read
    select solution
write
    select login, user_account
    select pg_advisory_xact_lock_shared
    lock competition
    select competition, organizer, participation, team_member, team, scoring_version, solution
    select submission, submission_grant
    select submission
    insert submission
    insert scoring_job, scoring_version
"""
FIRST_UPLOAD = """
read
    select api_token, user_account, competition
read
    select competition, organizer, scoring_version, solution
read
    select competition, organizer, participation, team_member, team, scoring_version, solution
    select participation, kept_identity
    select submission, submission_grant
    select team, team_member, kept_identity, submission
write
    select api_token, user_account, competition
    select pg_advisory_xact_lock_shared
    lock competition
    select competition, organizer, participation, team_member, team, scoring_version, solution
    select participation, kept_identity
    select submission, submission_grant
    select team, team_member, kept_identity, submission
    select team
    select team, team_member
    insert team
    insert team_member
    insert participation
    insert submission
    insert scoring_job, scoring_version
    insert content_state
"""
LIST_PAGE = """
read
    select login, user_account
    select competition, organizer, participation, team_member, team, scoring_version, solution
    select submission, submission_grant
    select submission
    select submission
    select content_state
    select score
    select submission, score
    select submission, score
    select submission
    select standing
    select solution
"""
LIST_BY_API = """
read
    select api_token, user_account, competition
    select competition, organizer, participation, team_member, team, scoring_version, solution
    select submission, submission_grant
    select submission
    select score
    select submission, score
    select submission
"""
ROWS = """\
    select standing
    select submission, team, score
    select standing
    select standing, team, score
    select team_member, user_account
    select submission
"""
CHARTS = """\
    select standing
    select submission, score
    select submission, score
    select competition
    select standing
    select standing, score
    select team
"""
AGAIN_OF_A_MEMBER = """
read
    select login, user_account
    select competition, organizer, scoring_version, solution
    select clock_timestamp
    select team, team_member, user_account
    select content_state
"""
AGAIN_OF_A_STRANGER = """
read
    select competition, scoring_version, solution
    select clock_timestamp
    select content_state
"""
# The page is not in the cache, so its rows and charts are read too.
BOARD_OF_A_MEMBER = AGAIN_OF_A_MEMBER + ROWS + CHARTS
BOARD_OF_A_STRANGER = AGAIN_OF_A_STRANGER + "    select clock_timestamp\n" + ROWS + CHARTS
HOME_AGAIN = """
read
    select login, user_account
    select competition, organizer, participation, team_member, team, scoring_version, solution
    select submission, submission_grant
    select announcement
    select content_state
"""
# The values are not in the cache: the leaderboard, the team's files, its selection and its entry's result.
HOME_OF_A_MEMBER = (
    HOME_AGAIN
    + """\
    select standing
    select standing, team
    select standing
    select standing
    select standing
    select submission, score
    select submission, score
    select submission
    select score
"""
)
BOARD_BY_API = AGAIN_OF_A_STRANGER + ROWS


@pytest.fixture
def ann(arena):
    """A user whose login and token have just been used."""
    arena.competition(max_daily_submissions=5, max_total_submissions=50)
    ann = arena.person("Ann")
    assert ann.browser.get("/account").status_code == 200
    path = f"{API}/submissions"
    assert arena.app.test_client().get(path, headers=ann.bearer).status_code == 200
    return ann


def upload_by_api(arena, person, *, environ: dict[str, Any] | None = None, **headers: str) -> Statements:
    file = {"file": (BytesIO(arena.truth.predictions(seed=2)), "p.csv")}
    with recorded(arena.database) as sent:
        answer = arena.app.test_client().post(
            f"{API}/submissions", data=file, headers=person.bearer | headers, environ_overrides=environ
        )
    assert answer.status_code == 201, answer.text
    return sent


def upload_by_page(arena, person) -> Statements:
    token = arena.form_token(person.browser, "/account")
    form = {"csrf_token": token, "file": (BytesIO(arena.truth.predictions(seed=2)), "p.csv")}
    with recorded(arena.database) as sent:
        answer = person.browser.post(f"{HERE}/submit", data=form)
    assert answer.status_code == 303, answer.text
    return sent


def test_an_upload_through_the_api_sends_these_statements(arena, ann):
    arena.submit(ann, arena.truth.predictions(seed=1))
    sent = upload_by_api(arena, ann, **{"Idempotency-Key": "one"})
    assert str(sent) == expected(UPLOAD_BY_API, arena.database)
    assert sent.count <= 16 and sent.count_under_lock <= 10


def test_a_large_upload_reads_the_user_and_its_limit_only_with_the_headers(arena, ann):
    arena.submit(ann, arena.truth.predictions(seed=1))
    head = Head()
    with recorded(arena.database) as sent:
        answer = arena.app.test_client().post(
            f"{API}/submissions", headers=ann.bearer, environ_overrides={HEAD: head}
        )
    assert (answer.status_code, str(sent)) == (204, expected(HEADERS, arena.database))
    sent = upload_by_api(arena, ann, environ={CHECKED: head.facts}, **{"Idempotency-Key": "one"})
    assert str(sent) == expected(UPLOAD_BY_API.removeprefix(HEADERS), arena.database)


def test_an_upload_through_the_page_sends_these_statements(arena, ann):
    arena.submit(ann, arena.truth.predictions(seed=1))
    sent = upload_by_page(arena, ann)
    assert str(sent) == expected(UPLOAD_BY_PAGE, arena.database)
    assert sent.count <= 16 and sent.count_under_lock <= 10


def test_a_users_first_upload_also_creates_their_team(arena, ann):
    sent = upload_by_api(arena, ann)
    assert str(sent) == expected(FIRST_UPLOAD, arena.database)
    assert sent.count <= 21


@pytest.fixture
def board(arena, ann):
    """A member of a team on a leaderboard of two teams, without stored ranks for today."""
    for person in (ann, arena.person("Bob")):
        arena.submit(person, arena.truth.predictions(noise=3 - person.user.id / 10))
    arena.score_all()
    return ann


@pytest.mark.parametrize(
    ("who", "path", "statements"),
    [
        ("member", f"{HERE}/submissions", LIST_PAGE + REQUESTS),
        ("token", f"{API}/submissions", LIST_BY_API),
        ("member", f"{HERE}/leaderboard", BOARD_OF_A_MEMBER + REQUESTS),
        ("visitor", f"{HERE}/leaderboard", BOARD_OF_A_STRANGER),
        ("visitor", f"{API}/leaderboard", BOARD_BY_API),
        ("member", HERE, HOME_OF_A_MEMBER + REQUESTS),
    ],
)
def test_reading_a_page_or_a_list_sends_these_statements(arena, board, who: str, path: str, statements: str):
    client = board.browser if who == "member" else arena.app.test_client()
    with recorded(arena.database) as sent:
        assert client.get(path, headers=board.bearer if who == "token" else {}).status_code == 200
    assert str(sent) == expected(statements, arena.database)


@pytest.fixture
def one_minute(monkeypatch):
    """A minute that does not end, so that snapshots stay valid between two requests."""
    end = snapshots.minute(datetime.now(UTC))
    monkeypatch.setattr(snapshots, "minute", lambda _now: end)


@pytest.mark.usefixtures("one_minute")
@pytest.mark.parametrize("query", ["", "?page=2", "?sort=bpsn_auc", "?q=ann"])
def test_a_visitor_sends_two_statements_for_an_unchanged_leaderboard(arena, board, query):
    for path in (f"{HERE}/leaderboard", f"{API}/leaderboard", f"{HERE}/leaderboard.csv", HERE):
        arena.app.test_client().get(path + query)
        with recorded(arena.database) as sent:
            assert arena.app.test_client().get(path + query).status_code == 200
        assert str(sent) == expected(AGAIN_OF_A_STRANGER, arena.database)


@pytest.mark.usefixtures("one_minute")
def test_members_send_these_statements_for_unchanged_pages(arena, board):
    for path, statements in ((f"{HERE}/leaderboard", AGAIN_OF_A_MEMBER), (HERE, HOME_AGAIN)):
        board.browser.get(path)
        with recorded(arena.database) as sent:
            assert board.browser.get(path).status_code == 200
        assert str(sent) == expected(statements + REQUESTS, arena.database)
