"""Competition pages, and pages of a participant's submissions."""

import json
import re
import shlex
from datetime import UTC, datetime, timedelta
from html import unescape

from click.testing import CliRunner

from grader.cli import main
from grader.models import Competition, ScoringVersion
from grader.services.rescoring import publication
from tests.fixtures.arena import main_text

HERE = "/competitions/toxicity"


def test_the_command_on_the_evaluation_page_scores_a_fold_as_the_server_does(
    arena, ann, tmp_path, monkeypatch
):
    file = arena.truth.predictions(noise=1.6)
    arena.submit(ann, file)
    arena.score_all()
    board = arena.app.test_client().get("/api/v1" + HERE + "/leaderboard", headers=ann.bearer).json
    shown = board["rows"][0]["score"]

    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_fold.csv").write_bytes(_public_fold(arena, file))
    page = arena.app.test_client().get(f"{HERE}/evaluation").text
    command = unescape(re.findall(r"<code>(fairboard score .*?)</code>", page, re.S)[0])
    words = shlex.split(command.replace("\\\n", " "))
    result = CliRunner().invoke(main, [*words[1:], "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    mine = json.loads(result.stdout)["splits"]["all"]
    assert round(mine["score"], 5) == shown


def test_the_sample_submission_can_be_downloaded_and_is_accepted(arena, ann):
    answer = ann.browser.get(f"{HERE}/data/sample_submission.csv")
    assert answer.mimetype == "text/csv"
    assert answer.headers["Content-Disposition"] == "attachment; filename=sample_submission.csv"
    unchanged = {"If-None-Match": answer.headers["ETag"]}
    assert ann.browser.get(f"{HERE}/data/sample_submission.csv", headers=unchanged).status_code == 304
    submission_id = arena.submit(ann, answer.data)
    arena.score_all()
    assert "Public score 0.50000 Change First the team's first score" in main_text(
        ann.browser.get(f"{HERE}/submissions/{submission_id}")
    )


def test_a_rescoring_before_the_reveal_is_not_shown_as_news_after_it():
    day = datetime(2026, 1, 1, tzinfo=UTC)
    version = ScoringVersion(number=2, replaced_number=1, published_at=day, reason="labels", notice="")
    competition = Competition(live_scoring_version=version)
    assert publication.news(competition) == publication.latest(competition) is not None
    competition.revealed_at = day + timedelta(days=1)
    assert publication.news(competition) is None
    competition.revealed_at = day - timedelta(days=1)
    assert publication.news(competition) is not None


def _public_fold(arena, file):
    """Return the public rows as a local validation fold: labels, identities and predictions."""
    predictions = [line.split(",")[1] for line in file.decode().splitlines()]
    rows = zip(arena.truth.solution().decode().splitlines(), predictions, strict=True)
    fold = [
        line.replace("Public", mine).replace("Usage", mine) for line, mine in rows if "Private" not in line
    ]
    return "\n".join(fold).encode() + b"\n"
