"""Leaderboard pages, CSV and JSON: search, sorting, own row, benchmarks, charts."""

import csv
import io
import re
from codecs import BOM_UTF8
from datetime import timedelta
from html import unescape

import pytest
from sqlalchemy import select, update

from grader.models import Score, Split, Standing, Submission, Team
from grader.ranking.order import error_text
from grader.services.competitions import lookup
from grader.visibility import Anonymity, Feedback, Visibility
from tests.fixtures import crowds

HERE = "/competitions/toxicity"
BOARD = f"{HERE}/leaderboard"
API = f"/api/v1{BOARD}"


@pytest.fixture
def crowd(arena):
    """Sixty teams with one scored submission each, of which 59 are inserted directly; Ann is last."""
    competition, ann, start = arena.competition(), arena.person("Ann"), arena.now()
    arena.submit(ann, arena.truth.predictions(noise=9, seed=1))
    arena.score_all()
    with arena.database.write() as session:
        crowds.fill(session, competition=competition, teams=59, files=59, start=start, end=start)
        session.execute(update(Score).values(terms=session.scalars(select(Score.terms)).first()))
        session.execute(update(Standing).values(score_units=1))
        others = select(Team, Standing, Submission).join(Standing, Standing.team_id == Team.id)
        others = others.join(Submission, Standing.submission_id == Submission.id).order_by(Team.id)
        for number, (team, standing, entry) in enumerate(session.execute(others.where(Team.name != "Ann"))):
            team.name, team.name_key = f"Team {number}", f"team {number}"
            standing.score_units = 90000 - number
            standing.submitted_at = entry.submitted_at = start + timedelta(seconds=number)
    return ann


def _json(arena, path, **headers):
    return arena.app.test_client().get(path, headers=headers)


def test_the_viewers_row_is_pinned_on_pages_that_do_not_contain_it(arena, crowd):
    first, second = (crowd.browser.get(f"{BOARD}?page={page}").text for page in (1, 2))
    assert re.search(
        r'<tbody class="pinned">\s*<tr class="own"[^>]*>\s*<td class="number rank">60</td>', first
    )
    assert "pinned" not in second and second.count('<tr class="own"') == 1
    way = re.search(r'<a class="to-own" href="[^"]*page=2#(team-[0-9]+)">You: 60th</a>', first)
    assert way and f'id="{way[1]}"' in second
    assert "pinned" not in arena.app.test_client().get(BOARD).text
    assert _json(arena, API, **crowd.bearer).json["own"]["rank"] == 60
    assert _json(arena, f"{API}?page=2", **crowd.bearer).json["own"] is None


def test_the_front_page_shows_the_largest_running_leaderboard_unless_it_is_hidden(arena, crowd):
    front = arena.app.test_client().get("/").text
    rows = _json(arena, API, **crowd.bearer).json["rows"]
    assert all(f"<bdi>{each['team']}</bdi>" in front for each in rows[:3])
    with arena.database.write() as session:
        lookup.get(session, slug="toxicity").feedback = Feedback.BLIND
    front = arena.app.test_client().get("/").text
    assert rows[0]["team"] not in front and 'class="pill">example' in front


def test_only_exact_scores_have_a_standard_error(arena):
    arena.competition()
    ann = arena.person("Ann")
    own = f"{HERE}/submissions/{arena.submit(ann, arena.truth.predictions(noise=2))}"
    arena.score_all()
    arena.measure()
    with arena.database.read() as session:
        score = session.scalars(select(Score).where(Score.split == Split.PUBLIC)).one()
        assert set(score.errors) == {"score", "overall_auc", "subgroup_auc", "bpsn_auc", "bnsp_auc"}
    shown = error_text(score.errors["score"])
    assert f"Standard error {shown}" in ann.browser.get(own).text
    assert _json(arena, API).json["rows"][0]["standard_error"] == pytest.approx(
        score.errors["score"], rel=0.05
    )
    with arena.database.write() as session:
        lookup.get(session, slug="toxicity").feedback = Feedback.TIERED
    assert _json(arena, API).json["rows"][0]["standard_error"] is None
    assert "Standard error" not in ann.browser.get(own).text
    arena.reveal()
    assert "±</abbr>" not in ann.browser.get(f"{BOARD}/private").text
    arena.measure()
    assert "±</abbr>" in ann.browser.get(f"{BOARD}/private").text
    assert "±</abbr>" not in ann.browser.get(BOARD).text


def test_a_search_finds_teams_and_keeps_their_ranks(arena, crowd):
    found = _json(arena, f"{API}?q=\N{FULLWIDTH LATIN SMALL LETTER T}EAM 5").json
    assert [(row["rank"], row["team"]) for row in found["rows"]] == [
        (6, "Team 5"),
        *((51 + number, f"Team 5{number}") for number in range(9)),
    ]
    assert (found["found_count"], found["team_count"]) == (10, 60)
    page = crowd.browser.get(f"{BOARD}?q=nobody").text
    assert "0 teams found." in page and "Show all" in page
    assert 'value="&lt;b&gt;"' in crowd.browser.get(f"{BOARD}?q=<b>").text


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("sort=score", list(range(1, 51))),
        ("sort=score&order=asc", list(range(60, 10, -1))),
        ("sort=overall_auc", list(range(1, 51))),  # equal values, so the rows stay in rank order
        ("sort=last_submitted_at", list(range(59, 9, -1))),
    ],
)
def test_sorting_by_a_visible_column_keeps_the_ranks(arena, crowd, query, expected):
    assert [row["rank"] for row in _json(arena, f"{API}?{query}").json["rows"]] == expected


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("sort=private_score", "unknown_column"),
        ("order=up", "unreadable"),
        ("division=Nobody", "unknown_division"),
    ],
)
def test_unknown_columns_orders_and_divisions_are_errors(arena, crowd, query, error):
    assert arena.app.test_client().get(f"{BOARD}?{query}").status_code == 400
    answer = _json(arena, f"{API}?{query}")
    assert (answer.status_code, answer.json["error"]) == (400, error)


def test_the_csv_has_all_teams_and_no_formula(arena, crowd):
    with arena.database.write() as session:
        team = session.scalars(select(Team).where(Team.name == "Team 0")).one()
        team.name = '=HYPERLINK("http://evil.example";"x"),1'
    answer = arena.app.test_client().get(f"{HERE}/leaderboard.csv")
    assert answer.mimetype == "text/csv"
    assert "toxicity-public-leaderboard.csv" in answer.headers["Content-Disposition"]
    for_excel = arena.app.test_client().get(f"{HERE}/leaderboard.csv?bom=1")
    assert for_excel.data == BOM_UTF8 + answer.data
    assert "leaderboard.csv?bom=1" in arena.app.test_client().get(BOARD).text
    text = answer.get_data(as_text=True)
    assert text.count("\r\n") == 61 and "\n" not in text.replace("\r\n", "")
    lines = list(csv.DictReader(io.StringIO(text)))
    assert [int(line["rank"]) for line in lines] == list(range(1, 61))
    assert lines[0]["team"] == '\'=HYPERLINK("http://evil.example";"x"),1'
    assert all(float(line["score"]) <= 1 for line in lines)
    assert lines[-1]["members"] == "Ann"


def test_an_unchanged_leaderboard_returns_304(arena, crowd):
    for path in (BOARD, API, f"{HERE}/leaderboard.csv"):
        first = _json(arena, path)
        assert first.headers["Cache-Control"] == "private, no-cache"
        again = _json(arena, path, **{"If-None-Match": first.headers["ETag"]})
        assert (again.status_code, again.data) == (304, b"")
    with arena.database.write() as session:
        session.scalars(select(Standing).where(Standing.score_units == 1)).one().score_units = 95000
    assert _json(arena, path, **{"If-None-Match": first.headers["ETag"]}).status_code == 200


def test_the_shown_rows_are_polled_with_the_users_session(arena, crowd):
    with arena.database.write() as session:
        lookup.get(session, slug="toxicity").visibility = Visibility.UNLISTED
    page = crowd.browser.get(f"{BOARD}?q=team&sort=team").text
    path = unescape(re.findall('data-poll="([^"]+)"', page)[0])
    first = crowd.browser.get(path)
    assert first.json["rows"][0]["team"] == "Team 0"
    assert _json(arena, path, Accept="application/json").status_code == 401
    again = crowd.browser.get(path, headers={"If-None-Match": first.headers["ETag"]})
    assert again.status_code == 304


def test_a_kept_file_does_not_contain_the_name_that_only_the_team_sees(arena, crowd):
    arena.app.extensions["fairboard"].pages.seconds = 60
    with arena.database.write() as session:
        lookup.get(session, slug="toxicity").anonymity = Anonymity.ALWAYS
    assert "Ann" in crowd.browser.get(f"{BOARD}?page=2").text
    for browser in (crowd.browser, arena.app.test_client()):
        table = browser.get(f"{BOARD}.csv").text
        assert "Team " in table and "Ann" not in table


def test_a_kept_page_shows_acts_and_the_teams_own_row_at_once_and_other_scores_after_seconds(arena, crowd):
    pages = arena.app.extensions["fairboard"].pages
    pages.seconds = 60

    def first() -> dict[str, str]:
        rows = _json(arena, API).json["rows"]
        assert rows[0]["team"] in arena.app.test_client().get(BOARD).text
        return rows[0]

    def own() -> int:
        (rank,) = re.findall(r"You: (\d+)", crowd.browser.get(BOARD).text)
        return int(rank)

    assert (first()["team"], own()) == ("Team 0", 60)
    with arena.database.write() as session:
        session.execute(update(Standing).where(Standing.score_units == 89999).values(score_units=90001))
        session.execute(update(Standing).where(Standing.score_units == 1).values(score_units=89999))
    assert (first()["team"], own()) == ("Team 0", 3)
    with arena.database.write() as session:
        lookup.lock(session, competition_id=lookup.get(session, slug="toxicity").id)
    assert (first()["team"], own()) == ("Team 1", 3)
    with arena.database.write() as session:
        session.execute(update(Standing).where(Standing.score_units == 90000).values(score_units=90002))
    assert first()["team"] == "Team 1"
    pages.seconds = 0
    assert first()["team"] == "Team 0"


def test_the_fairness_chart_names_the_front_and_matches_the_leaderboard(arena):
    arena.competition()
    ann = arena.person("Ann")
    arena.submit(ann, arena.truth.predictions(noise=3))
    arena.score_all()
    first = ann.browser.get(BOARD).text
    (row,) = re.findall(r'<td class="number">(0\.\d{4}) <bdi>(?:Subgroup|BPSN|BNSP)</bdi></td>', first)
    terms = _json(arena, API).json["rows"][0]["terms"]
    assert float(row) == min(value for term, value in terms.items() if term != "overall_auc")
    arena.submit(arena.person("Bob"), arena.truth.predictions(noise=1.5))
    arena.score_all()
    second = ann.browser.get(BOARD).text
    assert first.count('<circle class="dot"') == 2 and second.count('<circle class="dot"') == 4
    with arena.database.write() as session:
        lookup.get(session, slug="toxicity").feedback = Feedback.SCORE
    hidden = ann.browser.get(BOARD).text
    assert "Accuracy and fairness" not in hidden and "heat" not in hidden


def test_submissions_show_private_scores_first_and_which_counted_after_the_reveal(arena):
    arena.competition()
    ann, bob = arena.person("Ann"), arena.person("Bob")
    for noise in (3, 2.5, 2):
        arena.submit(ann, arena.truth.predictions(noise=noise, seed=int(noise * 10)))
    arena.submit(bob, arena.truth.predictions(noise=2.2, seed=4))
    arena.score_all()
    assert "Private score" not in ann.browser.get(f"{HERE}/submissions").text
    arena.reveal()
    page = ann.browser.get(f"{HERE}/submissions").text
    assert 0 < page.index(">Private score<") < page.index(">Public score<")
    own = ann.browser.get(f"{HERE}/submissions/1").text
    assert 0 < own.index(">Private score<") < own.index(">Public score<")
    assert "Your private score" in ann.browser.get(HERE).text
    assert "selected by you" not in page
    assert len(re.findall("(?:counted|competed); chosen automatically", page)) == 2
    assert "did not compete: not selected" in page
    private = ann.browser.get(f"{HERE}/leaderboard/private").text
    assert "Private leaderboard" in private
    assert "derive" in private
