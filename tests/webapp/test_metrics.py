"""Metrics of the site: access, counted requests, groups of endpoints."""

import io

import pytest

from webapp.http import middleware

CSV = {"Content-Type": "text/csv"}
TOKEN = "a token of the tests"
HERE = "/competitions/toxicity"
PACKAGES = {
    *("closing", "competitions", "documentation", "health", "identity", "kaggle_protocol", "leaderboards"),
    *("openapi", "presentation", "rescoring", "site", "solutions", "submissions", "teams"),
}


@pytest.fixture
def site(make_arena, own_counters):
    return make_arena(metrics_token=TOKEN)


def scrape(site):
    answer = site.app.test_client().get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert (answer.status_code, answer.mimetype) == (200, "text/plain")
    lines = [line.rpartition(" ") for line in answer.text.splitlines() if not line.startswith("#")]
    return {name.removeprefix("fairboard_"): float(value) for name, _, value in lines}


def requests(site, **labels):
    """Return the number of counted requests with these labels."""
    wanted = [f'{name}="{value}"' for name, value in labels.items()]
    found = scrape(site).items()
    return sum(
        n for name, n in found if name.startswith("http_requests_total") and all(w in name for w in wanted)
    )


@pytest.mark.parametrize("sent", ["", "Bearer ", "Bearer a token", f"Basic {TOKEN}", TOKEN, "Bearer é"])
def test_metrics_require_the_exact_token(site, sent):
    answer = site.app.test_client().get("/metrics", headers={"Authorization": sent} if sent else {})
    assert (answer.status_code, answer.json["error"]) == (401, "unauthorized")
    assert answer.headers["WWW-Authenticate"].lower().startswith("bearer")


def test_site_without_a_token_has_no_metrics(make_arena):
    arena = make_arena()
    sent = {"Authorization": f"Bearer {TOKEN}"}
    assert arena.app.test_client().get("/metrics", headers=sent).status_code == 404


def test_requests_are_counted_by_interface_group_method_and_status(site):
    site.competition()
    browser = site.app.test_client()
    for path in (f"{HERE}/leaderboard", f"/api/v1{HERE}/leaderboard", "/nowhere", "/livez"):
        browser.get(path)
    assert requests(site, interface="pages", group="leaderboards", method="read", status="200") == 1
    assert requests(site, interface="api", group="leaderboards", status="200") == 1
    assert requests(site, group="unknown", status="404") == 1
    assert scrape(site)['http_errors_total{error="not_found",group="unknown",interface="pages"}'] == 1
    name = 'http_request_seconds_count{group="leaderboards",interface="api",method="read"}'
    assert scrape(site)[name] == 1


def test_accepted_and_denied_uploads_are_counted_once(site):
    site.competition(max_daily_submissions=1)
    ann, api = site.person("Ann"), site.app.test_client()
    headers = {**ann.bearer, **CSV, "Idempotency-Key": "once"}
    for _ in range(2):  # The repeated request is not counted as another upload.
        sent = api.post(f"/api/v1{HERE}/submissions", data=site.truth.predictions(), headers=headers)
        assert sent.status_code in (200, 201)
    denied = api.post(f"/api/v1{HERE}/submissions", data=b"other", headers={**ann.bearer, **CSV})
    page = ann.post(f"{HERE}/submit", {"file": (io.BytesIO(b"broken"), "p.csv")})
    assert (denied.status_code, page.status_code) == (429, 429)
    found = scrape(site)
    assert found["accepted_uploads_total"] == found['submissions{status="pending"}'] == 1
    for interface in ("api", "pages"):
        labels = f'error="{denied.json["error"]}",group="submissions",interface="{interface}"'
        assert found[f"http_errors_total{{{labels}}}"] == 1


def test_every_endpoint_belongs_to_a_known_group(site):
    found = {middleware._group(site.app, endpoint) for endpoint in site.app.view_functions}
    assert found == PACKAGES
