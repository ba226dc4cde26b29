"""Site: health checks, static files, and errors in the format that the client accepts."""

import re
from pathlib import Path

import psutil
from fontTools.ttLib import TTFont

import webapp
from grader.settings import Settings
from webapp.app import create_app
from webapp.presentation.assets import fingerprint

WEBAPP = Path(webapp.__file__).parent
CSS = WEBAPP / "static" / "css"
FONTS = sorted((WEBAPP / "static" / "fonts").glob("*.woff2"))


def test_one_stylesheet_contains_every_file_of_the_design(arena):
    sheet = arena.app.test_client().get("/static/fairboard.css").text
    for path in CSS.rglob("*.css"):
        assert path.read_text() in sheet, f"{path.name} is missing from the stylesheet"


def test_the_typeface_has_tabular_figures_and_all_characters_of_the_interface():
    extended, basic = (TTFont(path) for path in FONTS)
    assert "tnum" in {each.FeatureTag for each in basic["GSUB"].table.FeatureList.FeatureRecord}
    sources = [path for end in ("html", "css", "js", "py", "toml") for path in WEBAPP.rglob(f"*.{end}")]
    sources = [
        path for path in sources if "site" not in path.relative_to(WEBAPP).parts
    ]  # built documentation
    used = {letter for path in sources for letter in path.read_text() if letter.isprintable()}
    first = set(map(chr, basic.getBestCmap()))
    assert used <= first, f"{used - first} is not in the file that every page loads"
    others = first.union(map(chr, extended.getBestCmap()))
    assert set("Zoë Łukasz Ayşe Đorđe Nguyễn Ελένη Ярослав Ґалаґан") <= others
    assert sum(path.stat().st_size for path in FONTS) < 130_000


def test_the_stylesheet_names_the_typeface_by_its_content_and_pages_preload_it(arena):
    browser = arena.app.test_client()
    sheet = browser.get("/static/fairboard.css").text
    for path in FONTS:
        address = f"fonts/{path.name}?v={fingerprint(f'fonts/{path.name}')}"
        assert f'url("{address}")' in sheet
        face = browser.get(f"/static/{address}")
        assert (face.mimetype, "immutable" in face.headers["Cache-Control"]) == ("font/woff2", True)
    (preloaded,) = re.findall(r'<link rel="preload" href="/static/([^"]+)" as="font"', browser.get("/").text)
    assert f'url("{preloaded}")' in sheet


def test_pages_and_styles_are_compressed_for_clients_that_accept_it(arena):
    browser = arena.app.test_client()
    for address in ("/", "/static/fairboard.css", "/static/js/times.js", "/api/openapi.json"):
        plain = browser.get(address)
        for coding in ("gzip", "br"):
            packed = browser.get(address, headers={"Accept-Encoding": coding})
            assert packed.headers["Content-Encoding"] == coding
            assert "Accept-Encoding" in packed.headers["Vary"]
            assert len(packed.data) < len(plain.data) / 2
            assert "Content-Encoding" not in plain.headers


def test_the_front_page_with_all_its_assets_is_under_40_kilobytes_without_the_typeface(arena):
    browser = arena.app.test_client()
    page = browser.get("/").text
    needed = ["/", *re.findall(r'(?:src|href)="(/static/[^"]+)"', page)]
    assert len(needed) <= 5
    sizes = {path: len(browser.get(path, headers={"Accept-Encoding": "gzip"}).data) for path in needed}
    assert sum(size for path, size in sizes.items() if "/fonts/" not in path) < 40_000
    assert sum(size for path, size in sizes.items() if "/fonts/" in path) < 26_000


def test_static_files_are_served_under_their_exact_names_only(arena):
    browser = arena.app.test_client()
    assert browser.get("/static/css/base.css").status_code == 200
    for name in ("css/./base.css", "css/../css/base.css", "css", "../app.py", "none.css", "9" * 5000, "%00"):
        assert browser.get(f"/static/{name}").status_code == 404, name[:20]


def test_health_shows_the_age_of_the_oldest_pending_submission(arena):
    browser = arena.app.test_client()
    assert browser.get("/healthz").json == {"status": "ok", "oldest_pending_seconds": None, "queue": "none"}
    arena.competition()
    arena.submit(arena.person("Ann"), b"x")
    assert browser.get("/healthz").json["oldest_pending_seconds"] >= 0


def test_health_shows_that_the_queue_is_unreachable(make_arena):
    arena = make_arena(broker_url="redis://127.0.0.1:1/0")
    assert arena.app.test_client().get("/healthz").json["queue"] == "unreachable"


def test_a_process_without_database_and_disk_is_live(arena, monkeypatch):
    def gone(*_, **__):
        raise AssertionError("The liveness check must not use anything outside the process.")

    monkeypatch.setattr("grader.db.Database.read", gone)
    monkeypatch.setattr("grader.db.Database.write", gone)
    monkeypatch.setattr("grader.storage.disk.free_bytes", gone)
    answer = arena.app.test_client().get("/livez")
    assert (answer.status_code, answer.json) == (200, {"status": "alive"})
    assert answer.headers["Cache-Control"] == "no-store"
    assert arena.app.test_client().get("/readyz").status_code == 503


def test_a_site_without_its_tables_is_not_ready(arena, monkeypatch):
    answer = arena.app.test_client().get("/readyz")
    assert (answer.status_code, answer.json["status"]) == (200, "ready")
    monkeypatch.setattr("grader.maintenance.schema.head", lambda: "9999")
    answer = arena.app.test_client().get("/readyz")
    assert (answer.status_code, answer.json["checks"]["database"]) == (503, False)
    assert answer.headers["Retry-After"] == "5"


def test_a_site_without_disk_space_is_not_ready(arena, monkeypatch):
    monkeypatch.setattr("grader.storage.disk.free_bytes", lambda folder: 0)
    answer = arena.app.test_client().get("/readyz")
    assert (answer.status_code, answer.json["checks"]["disk"]) == (503, False)


def test_a_server_error_shows_an_incident_and_the_log_omits_the_token_in_the_url(arena, monkeypatch, caplog):
    def broken(*_, **__):
        raise RuntimeError("the shelf fell")

    monkeypatch.setattr("grader.services.identity.one_time_links.holder", broken)
    page = arena.app.test_client().get("/reset/s3cr3t-t0k3n")
    assert page.status_code == 500
    incident = re.search(r"incident ([0-9A-F]{8})", page.text)
    assert incident and f"Incident {incident[1]}: GET /reset/<token>" in caplog.text
    assert "the shelf fell" in caplog.text and "the shelf fell" not in page.text
    assert "s3cr3t" not in caplog.text


def test_errors_are_html_for_browsers_and_json_for_api_clients(arena):
    browser = arena.app.test_client()
    page = browser.get("/nothing", headers={"Accept": "text/html,*/*"})
    assert page.mimetype == "text/html"
    assert "<h1>Not found</h1>" in page.text
    data = browser.get("/nothing", headers={"Accept": "application/json"})
    assert data.json["code"] == 404
    assert browser.get("/nothing").mimetype == "text/html"


def test_every_page_marks_the_current_navigation_entry(arena):
    arena.competition()
    text = arena.app.test_client().get("/competitions/toxicity/leaderboard").text
    assert text.count('aria-current="page"') == 1


def test_creating_the_application_opens_nothing_that_forked_workers_would_share(tmp_path):
    this = psutil.Process()
    before = this.children(), this.net_connections()
    app = create_app(Settings(data_dir=tmp_path))
    pool = app.extensions["fairboard"].database.engine.pool
    assert pool.checkedin() == pool.checkedout() == 0
    assert (this.children(), this.net_connections()) == before
