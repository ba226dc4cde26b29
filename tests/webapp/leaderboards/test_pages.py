"""Leaderboard pages, CSV and JSON: search, sorting, own row, benchmarks, charts."""

import csv
import io
import re
from codecs import BOM_UTF8
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import event, select, update

from fairboard import MetricSettings, Weights
from fairboard.bias.metric import BiasMetric
from grader.models import Competition, Score, Split, Standing, Submission, SubmissionKind, Team
from grader.ranking.order import SCALE, error_text
from grader.receipts.recount import TERMS
from grader.services.competitions import acting, lookup
from grader.services.leaderboards.board import Board, BoardRequest, ShownRow
from grader.services.site.log import Actor
from grader.services.submissions import decisions
from grader.text import safe
from grader.visibility import Feedback, Step
from webapp.leaderboards.views import BoardView
from webapp.presentation import formats

HERE = "/competitions/toxicity"
BOARD = f"{HERE}/leaderboard"
API = f"/api/v1{BOARD}"
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def crowd(arena):
    """Sixty teams with one scored submission each, inserted directly for speed; Ann is last."""
    arena.competition()
    ann = arena.person("Ann")
    arena.submit(ann, arena.truth.predictions(noise=9, seed=1))
    arena.score_all()
    with arena.database.write() as session:
        own = session.scalars(select(Standing)).one()
        entry = session.get_one(Submission, own.submission_id)
        own.score_units = 1
        _copy(session, own, entry)
    return ann


def _copy(session, own, entry):
    """Copy the submission and its scores to 59 other teams."""
    scores = session.scalars(select(Score)).all()
    teams = [
        Team(
            competition_id=entry.competition_id,
            name=f"Team {number}",
            name_key=f"team {number}",
            created_at=entry.submitted_at,
        )
        for number in range(59)
    ]
    session.add_all(teams)
    session.flush()
    columns = {name: getattr(entry, name) for name in ("user_id", "sha256", "size_bytes", "file_name")}
    copies = [
        Submission(
            competition_id=entry.competition_id,
            team_id=team.id,
            status=entry.status,
            submitted_at=entry.submitted_at + timedelta(seconds=number),
            **columns,
        )
        for number, team in enumerate(teams)
    ]
    session.add_all(copies)
    session.flush()
    values = [
        {
            name: getattr(score, name)
            for name in list(Score.__mapper__.attrs.keys())
            if name not in ("id", "submission_id")
        }
        for score in scores
    ]
    for number, copy in enumerate(copies):
        session.add_all(Score(submission_id=copy.id, **each) for each in values)
        session.add(
            Standing(
                scoring_version_id=own.scoring_version_id,
                split=own.split,
                team_id=copy.team_id,
                submission_id=copy.id,
                score_units=90000 - number,
                submitted_at=copy.submitted_at,
            )
        )


def _json(arena, path: str, **headers: str):
    return arena.app.test_client().get(path, headers=headers)


def _ranks(arena, query: str) -> list[int]:
    return [row["rank"] for row in _json(arena, f"{API}?{query}").json["rows"]]


def test_the_api_leaderboard_is_public_but_rejects_an_invalid_token(arena, crowd):
    assert _json(arena, API).json["team_count"] == 60
    assert _json(arena, API, Authorization="Bearer fb_wrong").status_code == 401
    assert _json(arena, API, Authorization="Basic eDp5").status_code == 401


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


def test_a_row_shows_the_gap_to_the_leader_computed_from_displayed_digits(arena, crowd):
    first, second = (crowd.browser.get(f"{BOARD}?page={page}").text for page in (1, 2))
    assert re.findall(r'<small class="gap">([^<]*)<', first) == [
        "\N{MINUS SIGN}0.89999",  # The viewer's row, which is pinned at the top.
        "",
        *(f"\N{MINUS SIGN}{number / 100_000:.5f}" for number in range(1, 50)),
    ]
    assert '<small class="gap">\N{MINUS SIGN}0.00050<' in second


def test_the_weakest_term_of_each_row_is_marked_once(arena, crowd):
    page = arena.app.test_client().get(BOARD).text
    assert page.count(' weakest">') == page.count('<span class="unseen"> weakest<') == 50
    assert "low = false alarms" in page


def test_a_weak_outlier_does_not_flatten_bars(arena, crowd):
    with arena.database.write() as session:
        for standing in session.scalars(select(Standing).order_by(Standing.score_units.desc())).all()[49:]:
            standing.score_units = 9
    page = arena.app.test_client().get(BOARD).text
    assert page.count("score-bar clipped") == 1


def shades(values: Sequence[tuple[float, ...]], **errors: float) -> list[tuple[str, ...]]:
    """Return the shades of the terms of teams that have these Overall, Subgroup, BPSN and BNSP AUCs."""
    rows = [
        ShownRow(
            rank=rank,
            team_id=rank,
            team="",
            members=(),
            submission_id=rank,
            score="",
            score_units=0,
            terms=dict(zip(TERMS, terms, strict=True)),
            entry_count=1,
            last_submitted_at=MOMENT,
            errors=errors,
        )
        for rank, terms in enumerate(values, start=1)
    ]
    board = Board(
        split=Split.PUBLIC,
        rows=tuple(rows),
        pinned=None,
        page=1,
        page_count=1,
        team_count=len(rows),
        leader_units=0,
        scale=SCALE,
        found_count=len(rows),
        has_terms=True,
        about=BiasMetric((), MetricSettings(weights=Weights(0.97, 0.01, 0.01, 0.01))).describe(),
        scoring_version=1,
        row_share=0.5,
        following=None,
    )
    classes: Any = SimpleNamespace(positive_name="harmful", negative_name="harmless", row_name="comments")
    view = BoardView(board, BoardRequest(), own_team_id=None, classes=classes)
    shown = [view.lines.row(row) for row in board.rows]
    marked = [[cell.is_weakest for cell in row.terms] for row in shown]
    assert marked == [[True, False, False, False]] * len(rows)  # the term with the highest cost
    found = [tuple(cell.shade for cell in row.terms) for row in shown]
    assert view.has_shades is any(shade != "plain" for row in found for shade in row)
    return found


def test_all_columns_have_the_same_shades_for_the_same_value():
    first, second = shades([(0.9412, 0.9333, 0.8941, 0.8), (0.9, 0.8941, 0.9333, 0.9412)])
    assert first == tuple(map(formats.shade, (0.9412, 0.9333, 0.8941, 0.8)))
    assert second == tuple(map(formats.shade, (0.9, 0.8941, 0.9333, 0.9412)))


def test_a_column_whose_values_differ_by_less_than_the_standard_error_has_no_shades():
    values = [(0.94, 0.931, 0.891, 0.8), (0.94, 0.929, 0.859, 0.8), (0.94, 0.93, 0.87, 0.8)]
    found = shades(values, overall_auc=0.001, subgroup_auc=0.003, bpsn_auc=0.03)
    assert [row[2] for row in found] == ["h5", "h5", "h5"]
    assert {row[place] for row in found for place in (0, 1, 3)} == {"plain"}
    assert shades(values[:1]) == [("plain",) * 4]


def test_only_exact_scores_have_a_standard_error(arena):
    arena.competition()
    ann = arena.person("Ann")
    own = f"{HERE}/submissions/{arena.submit(ann, arena.truth.predictions(noise=2))}"
    arena.score_all()
    assert "±</abbr>" not in ann.browser.get(BOARD).text
    arena.measure()
    with arena.database.read() as session:
        score = session.scalars(select(Score).where(Score.split == Split.PUBLIC)).one()
        assert set(score.errors) == {"score", "overall_auc", "subgroup_auc", "bpsn_auc", "bnsp_auc"}
    shown = error_text(score.errors["score"])
    assert f'<abbr title="standard error">±</abbr> {shown}<' in ann.browser.get(BOARD).text
    assert f"Standard error {shown}" in ann.browser.get(own).text
    assert _json(arena, API).json["rows"][0]["standard_error"] == pytest.approx(
        score.errors["score"], rel=0.05
    )
    with arena.database.write() as session:
        lookup.get(session, slug="toxicity").feedback = Feedback.TIERED
    assert _json(arena, API).json["rows"][0]["standard_error"] is None
    for page in (ann.browser.get(BOARD).text, ann.browser.get(own).text):
        assert "±</abbr>" not in page and "Standard error" not in page
    arena.reveal()
    assert "±</abbr>" not in ann.browser.get(f"{BOARD}/private").text
    arena.measure()
    assert "±</abbr>" in ann.browser.get(f"{BOARD}/private").text
    assert "±</abbr>" not in ann.browser.get(BOARD).text


def test_a_search_finds_teams_and_keeps_their_ranks(arena, crowd):
    found = _json(arena, f"{API}?q=tEAM 5").json
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
        ("sort=rank&order=desc", list(range(60, 10, -1))),
        ("sort=score", list(range(1, 51))),
        ("sort=score&order=asc", list(range(60, 10, -1))),
        # All values are equal, so the rows stay in rank order.
        (
            "sort=overall_auc",
            list(range(1, 51)),
        ),
        ("sort=overall_auc&order=asc", list(range(1, 51))),
        ("sort=entries&order=asc", list(range(1, 51))),
        ("sort=change", list(range(1, 51))),
        ("sort=last_submitted_at", list(range(59, 9, -1))),
    ],
)
def test_sorting_by_a_visible_column_keeps_the_ranks(arena, crowd, query: str, expected: list[int]):
    assert _ranks(arena, query) == expected


def test_sorting_by_team_name_ignores_case(arena, crowd):
    names = [row["team"] for row in _json(arena, f"{API}?sort=team").json["rows"]]
    assert names[0] == "Ann" and names == sorted(names, key=str.casefold)


@pytest.mark.parametrize("query", ["sort=private_score", "sort=score;", "sort=user_id", "order=up"])
def test_hidden_columns_cannot_be_sorted(arena, crowd, query: str):
    for path in (f"{API}?{query}", f"{BOARD}?{query}"):
        assert arena.app.test_client().get(path).status_code == 400
    assert _json(arena, f"{API}?{query}").json["error"] in ("unknown_column", "unknown_order")


def test_page_links_keep_search_and_sorting(arena, crowd):
    page = crowd.browser.get(f"{BOARD}?sort=team&order=desc&q=team").text
    assert re.search(r'rel="next" href="[^"]*page=2&amp;q=team&amp;sort=team&amp;order=desc"', page)
    assert 'aria-sort="descending"' in page


@pytest.fixture
def divided(arena, crowd):
    """The crowd in two divisions: Ann and the even teams are Students."""
    with arena.database.write() as session:
        session.scalars(select(Competition)).one().divisions = "Students\nOpen & free"
        for team in session.scalars(select(Team)):
            is_even = team.name == "Ann" or int(team.name.split()[1]) % 2 == 0
            team.division = "Students" if is_even else "Open & free"
    return crowd


def test_a_division_has_its_own_ranks_and_pages(arena, divided):
    inside = f"{API}?division=Open%20%26%20free"
    first = _json(arena, f"{inside}&per_page=20").json
    assert [row["rank"] for row in first["rows"]] == list(range(1, 21))
    assert {row["division"] for row in first["rows"]} == {"Open & free"}
    assert (first["team_count"], first["page_count"], first["own"]) == (29, 2, None)
    following = _json(arena, first["next"]).json
    assert [row["rank"] for row in following["rows"]] == list(range(21, 30))
    assert following["next"] is None
    searched = _json(arena, f"{inside}&q=Team 1&sort=team&order=desc").json
    names = [row["team"] for row in searched["rows"]]
    assert names == sorted(names, key=str.casefold, reverse=True)
    assert names == [f"Team {number}" for number in (19, 17, 15, 13, 11, 1)]
    assert {row["team"]: row["rank"] for row in first["rows"]}.items() >= {
        (row["team"], row["rank"]) for row in searched["rows"]
    }
    lines = list(csv.DictReader(io.StringIO(divided.browser.get(f"{BOARD}.csv?division=Students").text)))
    assert (len(lines), {line["division"] for line in lines}) == (31, {"Students"})
    whole = {row["team"]: row["rank"] for row in _json(arena, f"{API}?per_page=200").json["rows"]}
    students = sorted((line["team"] for line in lines), key=whole.__getitem__)
    assert [line["team"] for line in lines] == students


def test_the_page_links_the_divisions_and_keeps_the_chosen_one(arena, divided):
    whole = divided.browser.get(BOARD).text
    assert 'href="/competitions/toxicity/leaderboard?division=Open+%26+free"' in whole
    assert '<small class="division"><bdi>Students</bdi></small>' in whole
    inside = divided.browser.get(f"{BOARD}?division=Students&q=Team 1").text
    assert '<input type="hidden" name="division" value="Students">' in inside
    assert '<small class="division">' not in inside
    links = re.findall(r'href="[^"]*leaderboard(?:\.csv)?\?([^"#]*)', inside)
    assert sum("division=Students" in link for link in links) >= 8
    assert "31st" in divided.browser.get(f"{BOARD}?division=Students").text
    assert 'class="to-own"' not in divided.browser.get(f"{BOARD}?division=Open+%26+free").text


@pytest.mark.parametrize("path", [API, BOARD, f"{BOARD}.csv"])
def test_an_unknown_division_is_an_error(arena, divided, path):
    response = _json(arena, f"{path}?division=Nobody")
    assert response.status_code == 400
    assert "Use one of these: Students, Open &" in response.text


def test_a_benchmark_is_listed_by_score_without_a_rank(arena, crowd):
    other = arena.person("Orla")
    benchmark = arena.submit(other, arena.truth.predictions(noise=1.5), description="Word n-grams")
    arena.score_all()
    with arena.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        act = acting.begin(session, competition=competition, actor=Actor(None, "tests"))
        decisions.mark(act, submission_id=benchmark, kind=SubmissionKind.BENCHMARK)
    board = _json(arena, API).json
    assert board["team_count"] == 60
    place, row = next((place, row) for place, row in enumerate(board["rows"]) if row["is_benchmark"])
    assert (row["rank"], row["team"]) == (None, "Word n-grams")
    before, after = board["rows"][:place], board["rows"][place + 1 :]
    assert all(each["score"] >= row["score"] for each in before)
    assert all(each["score"] <= row["score"] for each in after)
    assert [each["rank"] for each in before + after] == list(range(1, 51))
    assert '<small class="pill">benchmark</small>' in crowd.browser.get(BOARD).text
    assert any(each["is_benchmark"] for each in _json(arena, f"{API}?q=gram&sort=team").json["rows"])


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


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_a_name_that_looks_like_a_formula_is_prefixed_with_an_apostrophe(start: str):
    assert safe(f"{start}1+1") == f"'{start}1+1"
    assert safe(f" {start}1") == f"' {start}1"
    assert safe(f"a{start}1") == f"a{start}1"


@pytest.mark.parametrize("text", ["-0.00398", "-2", "+0.08126", "+3"])
def test_a_signed_number_is_not_escaped(text: str):
    assert safe(text) == text
    assert safe(f"{text}-1") == f"'{text}-1"


def test_an_unchanged_leaderboard_returns_304(arena, crowd):
    for path in (BOARD, API, f"{HERE}/leaderboard.csv"):
        first = _json(arena, path)
        assert first.headers["Cache-Control"] == "private, no-cache"
        again = _json(arena, path, **{"If-None-Match": first.headers["ETag"]})
        assert (again.status_code, again.data) == (304, b"")
    with arena.database.write() as session:
        session.scalars(select(Standing).where(Standing.score_units == 1)).one().score_units = 95000
    assert _json(arena, path, **{"If-None-Match": first.headers["ETag"]}).status_code == 200


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


def test_the_version_endpoint_changes_only_with_new_scores_and_the_reveal(arena):
    arena.competition()
    ann = arena.person("Ann")

    def look(etag: str = ""):
        return _json(arena, f"{BOARD}/version", **{"If-None-Match": etag})

    first = look()
    assert (first.json["entries"], look(first.headers["ETag"]).status_code) == (0, 304)
    arena.submit(ann, arena.truth.predictions(noise=2))
    assert look(first.headers["ETag"]).status_code == 304
    arena.score_all()
    second = look(first.headers["ETag"])
    assert (second.status_code, second.json["entries"]) == (200, 1)
    assert second.json["version"] != first.json["version"]
    arena.submit(ann, arena.truth.predictions(noise=9))
    arena.score_all()
    assert (look().json["entries"], look().json["version"]) == (2, second.json["version"])
    with arena.database.write() as session:
        lookup.get(session, slug="toxicity").feedback = Feedback.BLIND
    blind = look()
    assert blind.json["entries"] is None
    arena.reveal()
    assert look().json["version"] != blind.json["version"]


def test_the_number_of_queries_is_independent_of_the_number_of_teams(arena, crowd):
    def queries(path: str) -> int:
        asked: list[str] = []
        listener = lambda *args: asked.append(args[2])  # noqa: E731
        event.listen(arena.database.engine, "before_cursor_execute", listener)
        try:
            assert crowd.browser.get(path).status_code == 200
        finally:
            event.remove(arena.database.engine, "before_cursor_execute", listener)
        return len(asked)

    queries(BOARD)  # The first request updates the login's last use.
    whole = queries(BOARD)
    with arena.database.write() as session:
        for row in session.scalars(select(Standing).where(Standing.score_units.between(2, 89998))):
            session.delete(row)
    assert queries(BOARD) <= whole + 1


def test_the_step_chart_has_no_inline_styles_and_a_table_alternative(arena):
    arena.competition()
    for number, name in enumerate(("Ann", "Bob")):
        person = arena.person(name)
        for noise in (3, 2, 1.5):
            arena.submit(person, arena.truth.predictions(noise=noise + number / 10, seed=number))
    arena.score_all()
    page = arena.app.test_client().get(BOARD).text
    assert page.count('<polyline class="step') == 4  # Two teams, each in the charts of both widths.
    assert " style=" not in page and "The chart as a table" in page
    scores = re.findall(r'<td class="score">(0\.\d{5})</td></tr>', page)
    assert scores and all(score in page for score in scores)


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


def test_the_results_page_explains_which_submissions_counted_and_shows_the_shake_up(arena):
    arena.competition()
    ann, bob = arena.person("Ann"), arena.person("Bob")
    for noise in (3, 2.5, 2):
        arena.submit(ann, arena.truth.predictions(noise=noise, seed=int(noise * 10)))
    arena.submit(bob, arena.truth.predictions(noise=2.2, seed=4))
    arena.score_all()
    assert ann.browser.get(f"{HERE}/results").status_code == 403
    arena.reveal()
    page = ann.browser.get(f"{HERE}/results").text
    assert "selected by you" not in page
    assert len(re.findall("(?:counted|competed); chosen automatically", page)) == 2
    assert "did not compete: not selected" in page and "have ranked" in page
    private = ann.browser.get(f"{HERE}/leaderboard/private").text
    assert "Private leaderboard" in private
    assert "derive" in private
    stranger = arena.person("Carol").browser.get(f"{HERE}/results").text
    assert "You have no team in this competition." in stranger


def test_the_reveal_date_is_shown_from_the_opening(arena):
    closes_at = arena.now() + timedelta(days=3)
    arena.competition(closes_at=closes_at)
    moment = closes_at + timedelta(days=7)
    assert f"revealed automatically on {moment.day} {moment:%b %Y, %H:%M} UTC" in _json(arena, BOARD).text


@pytest.mark.parametrize(("step", "decimals"), [(Step.OF_0_005, 3), (Step.OF_0_0005, 4)])
def test_displayed_scores_have_the_decimals_of_the_step_on_every_page(arena, step: Step, decimals: int):
    arena.competition(feedback=Feedback.TIERED, feedback_step=step)
    ann, bob = arena.person("Ann"), arena.person("Bob")
    arena.submit(bob, arena.truth.predictions(noise=0.2, seed=3))
    for number, noise in enumerate((3.0, 0.5)):
        submission_id = arena.submit(ann, arena.truth.predictions(noise=noise, seed=number))
    arena.score_all()
    own, compared = f"{HERE}/submissions", f"{HERE}/submissions/compare"
    for path in ("/", HERE, BOARD, own, f"{own}/{submission_id}", compared):
        page = re.sub(r"<svg.*?</svg>", "", ann.browser.get(path).text, flags=re.S)
        assert {len(each) - 2 for each in re.findall(r"\b[01]\.\d{2,}\b", page)} - {2} <= {decimals}, path
        assert "Scores are exact" not in page or path == "/"
    board = ann.browser.get(BOARD).text
    assert "± is the standard error" not in board
    assert 'data-unit="entry">1<' in board and 'data-unit="entries">2<' in board


def test_the_footer_states_that_scores_are_exact_only_if_they_are(arena):
    arena.competition()
    assert "Scores are exact" in arena.app.test_client().get(BOARD).text


def _podium(page: str) -> list[tuple[str, str]]:
    """Return the teams on the podium with the texts of their steps."""
    steps = re.findall(r'<li class="step-\d.*?</li>', page, re.DOTALL)
    shown = r"<bdi>([^<]*)</bdi>.*?<strong[^>]*>([^<]*?) ?(?:<small>([^<]*)</small>)?</strong>"
    return [
        (team, place + note) for each in steps for team, place, note in re.findall(shown, each, re.DOTALL)
    ]


def test_the_podium_shows_the_first_teams_of_the_revealed_standings(arena):
    arena.competition()
    for noise, name in enumerate(("Ann", "Bob", "Cem", "Dan"), start=1):
        arena.submit(arena.person(name), arena.truth.predictions(noise=noise))
    arena.score_all()
    visitor = arena.app.test_client()
    assert _podium(visitor.get(BOARD).text) == []
    arena.reveal("toxicity")
    assert _podium(visitor.get(BOARD).text) == [] == _podium(visitor.get(f"{BOARD}/private?q=a").text)
    ranked = [row["team"] for row in visitor.get(f"{API}?split=private").json["rows"]]
    shown = _podium(visitor.get(f"{BOARD}/private").text)
    assert shown == [(ranked[place], f"{place + 1}{each}") for place, each in enumerate(("st", "nd", "rd"))]
    with arena.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        act = acting.begin(session, competition=competition, actor=Actor(None, "tests"))
        for team in ranked[:2]:
            decisions.disqualify(act, team=team, reason="Two accounts.")
    page = visitor.get(f"{BOARD}/private").text
    assert _podium(page) == [(ranked[2], "1st"), (ranked[3], "2nd")]
    assert "Worst bias term" in page
