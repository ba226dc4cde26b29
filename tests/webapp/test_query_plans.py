"""Query plans on PostgreSQL with many teams: no frequent statement scans a large table.

The statements are recorded while the site and its sweeper work, and then explained. The planner must avoid
sequential scans, so it uses one only where no index fits.
"""

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import event, insert, select

from grader import db
from grader.models import Mail, Role, User
from grader.services.competitions import lookup
from grader.services.site import outbox
from grader.worker.lanes import Turn, all_lanes
from tests.fixtures import crowds
from tests.fixtures.databases import set_clock

NOW = datetime(2026, 5, 20, 12, 0, 30, tzinfo=UTC)
HERE = "/competitions/toxicity"
BOARD = f"{HERE}/leaderboard"
API = f"/api/v1{HERE}"
PUBLIC = (
    *(f"{BOARD}{query}" for query in ("", "?page=3", "?q=team+7", "?sort=bpsn_auc", "?sort=entries")),
    *(f"{API}/leaderboard{query}" for query in ("", "?sort=bpsn_auc", "?q=team+7")),
    *("/", HERE, f"{BOARD}.csv", "/livez", "/readyz", "/healthz"),
)
MEMBERS = (
    BOARD,
    HERE,
    f"{HERE}/submissions",
    f"{HERE}/team",
    f"{API}/submissions",
    f"{API}/team",
)
ORGANIZERS = (BOARD, HERE, f"{HERE}/organize", f"{API}/organize", f"{HERE}/organize/submissions")
STATEMENTS = ("SELECT", "WITH", "INSERT", "UPDATE", "DELETE")
WITHOUT_SCANS = "SET enable_seqscan = off"
TEAMS, FILES = 300, 3_000


@contextmanager
def recorded(database):
    """Record statements with the parameters of their first execution, from any thread."""
    sent: dict[str, Any] = {}

    def note(_connection, _cursor, statement: str, values, *_):
        if statement.startswith(STATEMENTS) and "set_config" not in statement:
            sent.setdefault(statement, values[0] if isinstance(values, list) else values)

    event.listen(database.engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(database.engine, "before_cursor_execute", note)


def scans(connection, sent):
    """Return the large tables that the statements scan."""
    found, large = [], TEAMS // 2
    query = "SELECT relname, reltuples FROM pg_class WHERE relkind = 'r'"
    sizes = dict(connection.exec_driver_sql(query).all())
    assert min(sizes[name] for name in ("submission", "score", "scoring_job", "mail")) >= large
    for statement, values in sent.items():
        (plan,) = connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {statement}", values).one()
        for node in _nodes(plan[0]["Plan"]):
            if node["Node Type"] == "Seq Scan" and sizes[node["Relation Name"]] >= large:
                found.append(f"{node['Relation Name']}: {node.get('Filter')} in {statement[:1000]}")
    return found


def _nodes(node):
    yield node
    for each in node.get("Plans", ()):
        yield from _nodes(each)


def _mails(session):
    for user_id in session.scalars(select(User.id)):
        for number in range(10):
            yield {
                "key": f"scored:{user_id}:{number}",
                "user_id": user_id,
                "to_address": "a@example.org",
                "subject": "Scored",
                "body": "",
                "created_at": NOW - timedelta(days=number),
                "available_at": NOW - timedelta(days=number),
                "attempt_count": 1,
                "sent_at": NOW - timedelta(days=number),
            }


def test_no_frequent_statement_scans_a_large_table(make_arena, make_postgresql_url, monkeypatch):
    set_clock(monkeypatch, lambda: NOW)
    arena = make_arena(database_url=make_postgresql_url())
    arena.competition(opens_at=NOW - timedelta(days=60))
    ann, bob = arena.person("Ann"), arena.person("Bob")
    arena.give_role(bob, Role.OWNER)
    with arena.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        crowds.fill(
            session,
            competition=competition,
            teams=TEAMS,
            files=FILES,
            start=NOW - timedelta(days=60),
            end=NOW,
        )
        session.execute(insert(Mail), list(_mails(session)))
    arena.submit(ann, arena.truth.predictions(noise=0.5))
    arena.score_all()
    with arena.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM ANALYZE")

    def visit():
        for person, pages in ((None, PUBLIC), (ann, MEMBERS), (bob, ORGANIZERS)):
            browser = person.browser if person else arena.app.test_client()
            for page in pages:
                answer = browser.get(page, headers=person.bearer if person and API in page else {})
                assert answer.status_code == 200, (page, answer.status)

    with recorded(arena.database) as pages:
        visit()
    with recorded(arena.database) as upload:
        arena.submit(ann, arena.truth.predictions(noise=0.7))
        arena.score_all()
    with recorded(arena.database) as sweep:
        with arena.database.read() as session:
            lanes, now = all_lanes(arena.settings), db.now(session)
            session.execute(select(*(lane.is_due(now) for lane in lanes)))
            for lane in lanes:
                lane.take(session, now, busy=())
        turn = Turn(arena.settings)
        turn.database = arena.database
        for lane in lanes:
            if lane.name in ("calendar", "requests", "texts", "records"):
                lane.run(turn)
        with arena.database.write() as session:
            assert not session.scalar(select(outbox.are_waiting(NOW)))
            outbox.forget_old(session, now=NOW)
    with arena.database.engine.connect() as connection:
        connection.exec_driver_sql(WITHOUT_SCANS)
        assert [scans(connection, sent) for sent in (pages, upload, sweep)] == [[], [], []]
    assert len(pages) > 20 and len(upload) > 10 and len(sweep) > 10
