"""Private scores before the reveal: absent from every response to every role."""

import re
from html import unescape

from sqlalchemy import select

from grader.models import Solution

HERE = "/competitions/toxicity"
STARTS = (
    "/",
    f"{HERE}/leaderboard/private",
    f"{HERE}/leaderboard?split=private",
    f"{HERE}/leaderboard?page=2&sort=private_score",
    f"{HERE}/submissions?order=private",
    "/livez",
    "/healthz",
    "/readyz",
)
API_PATHS = (
    "/api/v1/competitions",
    "/api/v1/competitions/toxicity",
    "/api/v1/competitions/toxicity/leaderboard",
    "/api/v1/competitions/toxicity/leaderboard?split=private",
    "/api/v1/competitions/toxicity/leaderboard?split=all",
    *(f"/api/v1/submissions/{number}" for number in range(1, 6)),
)


def test_solution_files_are_not_served(scene):
    with scene.arena.database.read() as session:
        solution = session.scalars(select(Solution)).one()
    for sha256 in (solution.prepared_sha256, solution.row_ids_sha256):
        for path in (f"/blobs/{sha256}", f"/static/../blobs/{sha256[:2]}/{sha256}", f"/{sha256}"):
            assert scene.ann.browser.get(path).status_code == 404
    told = _everything(scene, "owner").values()
    for secret in (solution.prepared_sha256, solution.digest, solution.nonce):
        assert all(secret not in text for text in told)
    assert any(solution.commitment in text for text in told)


def test_private_leaderboard_error_does_not_show_whether_scores_exist(arena):
    arena.competition()
    ann = arena.person("Ann")
    before = ann.browser.get(f"{HERE}/leaderboard/private")
    arena.submit(ann, arena.truth.predictions())
    arena.score_all()
    after = ann.browser.get(f"{HERE}/leaderboard/private")
    assert (before.status_code, before.text) == (after.status_code, after.text)


def _everything(scene, role: str) -> dict[str, str]:
    """Return bodies and headers of all linked pages and all API addresses."""
    browser, asked, seen = scene.browser(role), set(), {}
    left = [*STARTS, f"{HERE}/submissions/{scene.scored_id}/status"]
    while left:
        path = left.pop()
        if path in asked:
            continue
        asked.add(path)
        answer = browser.get(path)
        # This file is returned unchanged, so its predictions may contain a score's digits.
        if not path.endswith("/file"):
            seen[path] = f"{answer.headers}\n{answer.get_data().decode(errors='replace')}"
        if answer.mimetype == "text/html":
            links = re.findall(r'(?:href|action|src|data-live)="(/[^"#]*)', answer.text)
            left += [unescape(link) for link in links if not link.startswith("/static/")]
    api = scene.arena.app.test_client()
    for path in API_PATHS:
        answer = api.get(path, headers=scene.bearer(role))
        seen[path] = f"{answer.headers}\n{answer.text}"
    return seen
