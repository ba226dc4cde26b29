"""Organizers' pages of a running competition, and effects on participants' pages."""

import io
from datetime import timedelta

import pytest
from sqlalchemy import select

from grader.models import (
    JobState,
    Role,
    ScoringJob,
    Submission,
    SubmissionStatus,
)
from webapp.closing import exports

HERE = "/competitions/toxicity"
DESK = f"{HERE}/organize"
API = "/api/v1/competitions/toxicity/submissions"


@pytest.fixture
def desk(arena):
    """A complete test site with a scored submission by Ann, an editor (Ed) and a viewer (Vic)."""
    arena.competition(max_daily_submissions=3, closes_at=arena.now() + timedelta(days=30))
    arena.ann, arena.ed, arena.vic = (arena.person(name) for name in ("Ann", "Ed", "Vic"))
    for person, role in ((arena.ed, Role.EDITOR), (arena.vic, Role.VIEWER)):
        arena.give_role(person, role)
    arena.scored_id = arena.submit(arena.ann, arena.truth.predictions(seed=1))
    arena.score_all()
    return arena


def submission(desk, submission_id):
    with desk.database.read() as session:
        return session.get_one(Submission, submission_id)


def fail(desk, submission_id):
    with desk.database.write() as session:
        job = session.scalars(select(ScoringJob).where(ScoringJob.submission_id == submission_id)).one()
        job.state, job.incident = JobState.FAILED, "7f3a"
        found = session.get_one(Submission, submission_id)
        found.status, found.incident = SubmissionStatus.FAILED, "7f3a"


def test_the_console_shows_figures_tables_and_tasks(desk):
    quiet = desk.vic.browser.get(DESK).text
    assert 'id="needs"' not in quiet and "No files were rejected." in quiet
    rejected = desk.submit(desk.ann, b"id,prediction\nnothing,0.5\n")
    desk.score_all()
    assert submission(desk, rejected).status is SubmissionStatus.REJECTED
    failed = desk.submit(desk.ann, desk.truth.predictions(seed=2))
    fail(desk, failed)
    page = desk.vic.browser.get(DESK).text
    assert "First problem in each rejected file" in page
    assert page.index("1 submission failed") < page.index("rejected") < page.index('<h2 id="queue">')


def test_a_pause_is_shown_on_page_and_api_and_leaderboards_stay_readable(desk):
    assert desk.ed.post(f"{DESK}/pause", {"message": ""}).status_code == 409
    told = {"message": "Labels are checked until Friday"}
    assert desk.ed.post(f"{DESK}/pause", told).status_code == 303
    page = desk.ann.browser.get(f"{HERE}/submissions").text
    assert "Submissions are paused: Labels are checked until Friday." in page
    assert '<input id="file"' not in page
    file = {"file": (io.BytesIO(desk.truth.predictions(seed=2)), "p.csv")}
    answer = desk.app.test_client().post(API, data=file, headers=desk.ann.bearer)
    assert (answer.status_code, answer.json["error"]) == (403, "submissions_paused")
    assert "Labels are checked until Friday. The leaderboard stays" in answer.json["message"]
    file = {"file": (io.BytesIO(desk.truth.predictions(seed=2)), "p.csv")}
    assert desk.ann.post(f"{HERE}/submit", file).status_code == 403
    assert desk.app.test_client().get(f"{HERE}/leaderboard").status_code == 200
    assert "Labels are checked" in desk.app.test_client().get(f"{HERE}/log").text
    assert desk.ed.post(f"{DESK}/resume").status_code == 303
    desk.submit(desk.ann, desk.truth.predictions(seed=2))


def test_a_failed_submission_is_retried_and_a_hint_is_sent_to_the_worker(desk):
    fail(desk, desk.scored_id)
    assert "1 submission failed" in desk.ed.browser.get(DESK).text
    assert "Retry" in desk.ed.browser.get(f"{DESK}/submissions").text
    desk.hints.job_ids.clear()
    answer = desk.ed.post(f"{DESK}/submissions/{desk.scored_id}/retry")
    assert answer.headers["Location"] == f"{DESK}/submissions"
    assert len(desk.hints.job_ids) == 1
    assert desk.ed.post(f"{DESK}/submissions/retry").status_code == 409


def test_extra_submissions_increase_the_teams_remaining_submissions(desk):
    team = f"{DESK}/teams/{submission(desk, desk.scored_id).team_id}"
    today = f"{desk.now():%Y-%m-%d}"
    given = {"count": "2", "day": today, "reason": "An outage"}
    assert desk.ed.post(f"{team}/grants", given).status_code == 303
    page = desk.ann.browser.get(f"{HERE}/submissions").text
    assert "4 of 5" in page
    assert "including 2 extra" in page
    limits = desk.app.test_client().get(API, headers=desk.ann.bearer).json["limits"]
    assert (limits["granted_today"], limits["max_daily"], limits["left"]) == (2, 5, 4)
    wrong = desk.ed.post(f"{DESK}/teams/grants", {"count": "0", "day": "soon", "reason": ""})
    assert (wrong.status_code, "must be a valid date" in wrong.text) == (400, True)


def test_an_announcement_is_previewed_posted_and_withdrawn(desk):
    news = {"title": "New <data>", "body": "See **this** <script>alert(1)</script>"}
    preview = desk.ed.confirm(f"{DESK}/announcements", {**news, "act": "preview"}).text
    assert "<strong>this</strong>" in preview
    assert "New &lt;data&gt;" in preview
    assert "New &lt;data&gt;" not in desk.app.test_client().get(HERE).text
    assert desk.ed.confirm(f"{DESK}/announcements", {**news, "act": "post"}).status_code == 303
    overview = desk.app.test_client().get(HERE).text
    assert "<strong>this</strong>" in overview
    assert "<script>alert" not in overview
    assert desk.ed.confirm(f"{DESK}/announcements", {"title": "", "body": "kept"}).text.count("kept") == 2
    assert desk.ed.confirm(f"{DESK}/announcements/1/withdraw").status_code == 303
    assert "New &lt;data&gt;" not in desk.app.test_client().get(HERE).text
    assert desk.ed.confirm(f"{DESK}/announcements/1/withdraw").status_code == 404


def test_exports_that_run_at_the_same_time_are_limited(desk):
    address = f"{DESK}/exports/scores.csv"
    for _ in range(2 * exports.MOST_AT_ONCE):  # each response ends its export, also after an error
        assert desk.vic.browser.get(address).status_code == 200
        assert desk.vic.browser.head(address).status_code == 200
        assert desk.vic.browser.get(f"{address}?version=7").status_code == 404
    for _ in range(exports.MOST_AT_ONCE):
        assert exports.slots.acquire(blocking=False)
    for path in (address, f"{DESK}/exports/audit.csv"):
        refused = desk.vic.browser.get(path)
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "15")
    exports.slots.release(exports.MOST_AT_ONCE)
    assert desk.vic.browser.get(address).status_code == 200


@pytest.mark.parametrize("kind", ["submissions", "standings", "scores", "audit"])
def test_every_export_is_available(desk, kind):
    table = desk.vic.browser.get(f"{DESK}/exports/{kind}.csv")
    assert table.headers["Content-Disposition"] == f"attachment; filename=toxicity-{kind}.csv"
    assert len(table.text.splitlines()) >= 2
    assert desk.vic.browser.get(f"{DESK}/exports/{kind}.csv?bom=1").data == b"\xef\xbb\xbf" + table.data
    assert desk.ann.browser.get(f"{DESK}/exports/{kind}.csv").status_code == 403
    if kind in ("standings", "scores"):
        assert desk.vic.browser.get(f"{DESK}/exports/{kind}.csv?version=7").status_code == 404
